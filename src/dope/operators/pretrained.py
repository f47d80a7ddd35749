"""Operators that the user brings already trained: they are asked, never trained."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from dope.data import DataError, Grid, OperatorData
from dope.operators.base import Operator

_AT_ONCE = 1024
_LAYOUTS = ("channels-first", "channels-last")


class Pretrained(Operator):
    """A fixed map from inputs to fields; only the weights are learned."""

    def core(self, grid: Grid, channels: int) -> nn.Module:
        raise TypeError("a pretrained operator is not trained: it has no core to build")

    @abstractmethod
    def check(self, data: OperatorData) -> None:
        """Raise if the operator cannot serve this data, before anything is trained."""

    @abstractmethod
    def fields(self, data: OperatorData) -> np.ndarray:
        """Predicted fields `(n, *grid)` of the data's units."""

    @abstractmethod
    def predict(self, inputs: np.ndarray, grid: Grid) -> np.ndarray:
        """Predicted fields `(m, *grid)` of further inputs `(m, C, *grid)`."""


class Asked(Pretrained):
    """A function or module that is called."""

    def __init__(self, predict: Callable[[Tensor], Tensor], layout: str) -> None:
        if layout not in _LAYOUTS:
            raise DataError(f"layout must be one of {_LAYOUTS}, got {layout!r}.")
        self._predict, self.layout = predict, layout

    def __repr__(self) -> str:
        return f"pretrained(layout={self.layout!r})"

    def check(self, data: OperatorData) -> None:
        try:
            self.predict(data.inputs[:1], data.grid)
        except DataError:
            raise
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            shape = data.inputs[:1].shape
            shape = (1, *shape[2:], shape[1]) if self.layout == "channels-last" else shape
            raise DataError(
                f"the pretrained operator fails on inputs of shape {shape} ({error}): check layout= (now "
                f"{self.layout!r}), or pass query= to adapt the call."
            ) from error

    def fields(self, data: OperatorData) -> np.ndarray:
        return self.predict(data.inputs, data.grid)

    def predict(self, inputs: np.ndarray, grid: Grid) -> np.ndarray:
        parts = []
        for start in range(0, len(inputs), _AT_ONCE):
            a = torch.as_tensor(inputs[start : start + _AT_ONCE])
            if self.layout == "channels-last":
                a = a.movedim(1, -1)
            with torch.no_grad():
                out = self._predict(a)
            if not isinstance(out, Tensor):
                raise DataError(f"the pretrained operator returned {type(out).__name__}, expected a tensor.")
            channel = 1 if self.layout == "channels-first" else -1
            if out.dim() == grid.ndim + 2 and out.shape[channel] == 1:
                out = out.squeeze(channel)
            if out.shape != (len(a), *grid.shape):
                raise DataError(
                    f"the pretrained operator returned shape {tuple(out.shape)} for inputs {tuple(a.shape)}, expected "
                    f"{(len(a), *grid.shape)}: check layout= (now {self.layout!r}), or pass query= to adapt the call."
                )
            parts.append(out.detach().cpu().to(torch.float32).numpy())
        fields = np.concatenate(parts)
        _finite(fields)
        return fields


class Precomputed(Pretrained):
    """Fields that some other program predicted for the data's units, in their order."""

    def __init__(self, fields: np.ndarray) -> None:
        self._fields = fields

    def __repr__(self) -> str:
        return f"pretrained(fields of {len(self._fields)} units)"

    def check(self, data: OperatorData) -> None:
        expected = (len(data), *data.grid.shape)
        if self._fields.shape != expected:
            raise DataError(
                f"predicted fields have shape {self._fields.shape}, expected (n, *grid) = {expected}: one field for "
                "each unit of the data, in its order."
            )
        _finite(self._fields)

    def fields(self, data: OperatorData) -> np.ndarray:
        self.check(data)
        return self._fields

    def predict(self, inputs: np.ndarray, grid: Grid) -> np.ndarray:
        raise DataError(
            "this operator holds predicted fields only and cannot be asked for further inputs: pass a function to "
            "dope.pretrained instead, or pass predicted fields as unlabeled=."
        )


def pretrained(
    operator: nn.Module | Callable[[Tensor], Tensor] | ArrayLike,
    *,
    layout: str = "channels-first",
    query: Callable[..., Tensor] | None = None,
) -> Pretrained:
    """An operator that is already trained, on other data than those of the fit.

    Parameters
    ----------
    operator : a torch module, any function from inputs to fields, or an array of the fields (n, *grid) that any other
        program predicted for the data's units. With an array, `unlabeled=` takes predicted fields, too.
    layout : where the module expects the channels, "channels-first" (n, C, *grid) or "channels-last".
    query : `query(operator, inputs) -> fields`, for modules with another signature.
    """
    if isinstance(operator, (np.ndarray, Tensor, list)):
        fields = operator.detach().cpu().numpy() if isinstance(operator, Tensor) else np.asarray(operator)
        return Precomputed(fields.astype(np.float32))
    if not callable(operator):
        raise DataError(f"dope.pretrained needs a module, a function or an array, got {type(operator).__name__}.")
    device, dtype = torch.device("cpu"), torch.float32
    if isinstance(operator, nn.Module):
        operator.eval()
        parameter = next(iter(operator.parameters()), None)
        if parameter is not None:
            device = parameter.device
            dtype = parameter.dtype if parameter.is_floating_point() else dtype

    def predict(inputs: Tensor) -> Tensor:
        inputs = inputs.to(device=device, dtype=dtype)
        return query(operator, inputs) if query is not None else operator(inputs)

    return Asked(predict, layout)


def _finite(fields: np.ndarray) -> None:
    bad = ~np.isfinite(fields).reshape(len(fields), -1).all(1)
    if bad.any():
        raise DataError(f"the pretrained operator is not finite for the unit at position {int(np.argmax(bad))}.")
