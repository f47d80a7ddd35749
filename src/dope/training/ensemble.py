"""Many networks of one architecture, with their weights stacked along a leading axis."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

State = dict[str, Tensor]

# Nodes of fields that go through the networks at a time when they are only asked: on a CPU as many as its caches hold
# the hidden channels of.
_NODES_AT_ONCE = {"cpu": 2**15, "cuda": 2**22}


@dataclass(eq=False)
class Ensemble:
    """M networks: one module that knows how to compute, and stacked parameters and buffers `(M, ...)`.

    Buffers that a module does not keep in its state (transforms, coordinates) belong to the architecture, not to a
    network: the module's own serve all, unstacked.
    """

    module: nn.Module
    parameters: State
    buffers: State
    stackable: bool

    @staticmethod
    def of(modules: Sequence[nn.Module], device: torch.device) -> Ensemble:
        parameters, buffers = stack_module_state(list(modules))
        kept = modules[0].state_dict().keys()
        return Ensemble(
            modules[0].to(device),
            {k: v.detach().to(device) for k, v in parameters.items()},
            {k: v.detach().to(device) for k, v in buffers.items() if k in kept},
            stackable=True,
        )

    def __len__(self) -> int:
        return len(next(iter(self.parameters.values())))

    @property
    def device(self) -> torch.device:
        return next(iter(self.parameters.values())).device

    def __call__(self, inputs: Tensor) -> Tensor:
        """Fields `(M, B, *grid)` of inputs `(M, B, C, *grid)`, one batch for each network."""
        if getattr(self.module, "stacks", False):
            return self._stacked(inputs)
        if self.stackable:
            try:
                return vmap(self._one)(self.parameters, self.buffers, inputs)
            except RuntimeError as error:
                self.stackable = False
                warnings.warn(
                    f"{type(self.module).__name__} cannot be stacked ({str(error).splitlines()[0]}): its networks run "
                    "one after another, which is slower and gives the same result.",
                    stacklevel=2,
                )
        count = len(inputs)
        rows = zip(_rows(self.parameters, count), _rows(self.buffers, count), inputs, strict=True)
        return torch.stack([self._one(p, b, a) for p, b, a in rows])

    def _one(self, parameters: State, buffers: State, inputs: Tensor) -> Tensor:
        return functional_call(self.module, (parameters, buffers), (inputs,))

    @cached_property
    def _stacked(self) -> nn.Module:
        """The module with the stacked tensors in place of its own, once: to put them in at each call takes long."""
        module = deepcopy(self.module)
        for name, value in (self.parameters | self.buffers).items():
            owner, _, own = name.rpartition(".")
            delattr(module.get_submodule(owner), own)
            setattr(module.get_submodule(owner), own, value)
        return module

    def member(self, m: int) -> Callable[[Tensor], Tensor]:
        """Network number m alone: inputs `(B, C, *grid)` -> fields `(B, *grid)`."""
        parameters = {k: v[m] for k, v in self.parameters.items()}
        buffers = {k: v[m] for k, v in self.buffers.items()}
        return lambda inputs: self._one(parameters, buffers, inputs)

    def predict(self, m: int, inputs: np.ndarray) -> np.ndarray:
        """Fields of network m at any number of inputs `(n, C, *grid)`, in pieces."""
        return self[m : m + 1].predict_each(inputs, [np.arange(len(inputs))])[0]

    @torch.no_grad()
    def predict_each(self, inputs: np.ndarray, units: Sequence[np.ndarray]) -> list[np.ndarray]:
        """For every network the fields `(len(units[m]), *grid)` at its own rows of the inputs `(n, C, *grid)`."""
        dtype = next(iter(self.parameters.values())).dtype
        out = [np.empty((len(rows), *inputs.shape[2:]), np.float32) for rows in units]
        at_once = _NODES_AT_ONCE["cuda" if self.device.type == "cuda" else "cpu"]
        fields = max(1, at_once // int(np.prod(inputs.shape[2:])))
        for start in range(0, len(self), fields):
            members = range(start, min(start + fields, len(self)))
            part, step = self[members.start : members.stop], max(1, fields // len(members))
            for begin in range(0, max(len(units[m]) for m in members), step):
                pieces = [units[m][begin : begin + step] for m in members]
                rows = np.zeros((len(members), max(map(len, pieces))), dtype=np.int64)  # padded with a row that exists
                for row, piece in zip(rows, pieces, strict=True):
                    row[: len(piece)] = piece
                found = part(torch.as_tensor(inputs[rows], device=self.device, dtype=dtype)).cpu().numpy()
                for m, piece, own in zip(members, pieces, found, strict=True):
                    out[m][begin : begin + len(piece)] = own[: len(piece)]
        return out

    def finite(self) -> np.ndarray:
        """`(M,)`: which networks have only finite parameters, as training that diverged has not."""
        parts = [torch.isfinite(v).flatten(1).all(1) for v in self.parameters.values()]
        return torch.stack(parts).all(0).cpu().numpy()

    def __getitem__(self, members: slice) -> Ensemble:
        """These networks, on the same memory."""
        return Ensemble(
            self.module,
            {k: v[members] for k, v in self.parameters.items()},
            {k: v[members] for k, v in self.buffers.items()},
            self.stackable,
        )

    @staticmethod
    def joined(parts: Sequence[Ensemble], order: np.ndarray) -> Ensemble:
        """The members of several ensembles, in the given order of their concatenation."""
        index = torch.as_tensor(order, device=parts[0].device)
        cat = lambda states: {k: torch.cat([s[k] for s in states])[index] for k in states[0]}  # noqa: E731
        return Ensemble(
            parts[0].module,
            cat([p.parameters for p in parts]),
            cat([p.buffers for p in parts]),
            all(p.stackable for p in parts),
        )


def _rows(state: State, count: int) -> Iterator[State]:
    return ({k: v[m] for k, v in state.items()} for m in range(count))
