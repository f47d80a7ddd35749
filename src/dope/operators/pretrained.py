"""Operators that the user brings already trained: they are asked, never trained."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from dope.data import DataError, Grid
from dope.operators.base import Operator

_AT_ONCE = 1024
_LAYOUTS = ("channels-first", "channels-last")


class Pretrained(Operator):
    """A fixed map from inputs to fields; only the weights are learned."""

    def __init__(self, predict: Callable[[Tensor], Tensor], layout: str) -> None:
        if layout not in _LAYOUTS:
            raise DataError(f"layout must be one of {_LAYOUTS}, got {layout!r}.")
        self._predict, self.layout = predict, layout

    def __repr__(self) -> str:
        return f"pretrained(layout={self.layout!r})"

    def core(self, grid: Grid, channels: int) -> nn.Module:
        raise TypeError("a pretrained operator is not trained: it has no core to build")

    def predict(self, inputs: np.ndarray, grid: Grid) -> np.ndarray:
        """Fields `(n, *grid)` for inputs `(n, C, *grid)`."""
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
        bad = ~np.isfinite(fields).reshape(len(fields), -1).all(1)
        if bad.any():
            raise DataError(f"the pretrained operator is not finite for the unit at position {int(np.argmax(bad))}.")
        return fields


def pretrained(
    module: nn.Module | Callable[[Tensor], Tensor],
    *,
    layout: str = "channels-first",
    query: Callable[..., Tensor] | None = None,
) -> Pretrained:
    """An operator that is already trained, on other data than those of the fit.

    Parameters
    ----------
    module : a torch module, or any function from inputs to fields.
    layout : where the module expects the channels, "channels-first" (n, C, *grid) or "channels-last".
    query : `query(module, inputs) -> fields`, for modules with another signature.
    """
    if not callable(module):
        raise DataError(f"dope.pretrained needs a torch module or a function, got {type(module).__name__}.")
    if isinstance(module, nn.Module):
        module.eval()
        parameter = next(iter(module.parameters()), None)
        device = parameter.device if parameter is not None else torch.device("cpu")
        dtype = parameter.dtype if parameter is not None and parameter.is_floating_point() else torch.float32
    else:
        device, dtype = torch.device("cpu"), torch.float32

    def predict(inputs: Tensor) -> Tensor:
        inputs = inputs.to(device=device, dtype=dtype)
        return query(module, inputs) if query is not None else module(inputs)

    return Pretrained(predict, layout)
