"""Grids, fields, functionals and data that several rooms' tests share."""

from __future__ import annotations

import numpy as np
import torch

import dope.functionals as fn
from dope.data import Grid, OperatorData

IRREGULAR = [0.0, 0.1, 0.15, 0.4, 0.65, 0.7, 1.3, 2.0]

GRIDS_1D = {
    "uniform": Grid.uniform(0, 2, 17),
    "periodic": Grid.periodic(-1, 1, 16),
    "cells": Grid.cells(0, 3, 12),
    "nodes": Grid.nodes(IRREGULAR),
    "nodes with weights": Grid.nodes(IRREGULAR, weights=[1, 2, 0.5, 1, 3, 1, 1, 1]),
    "nodes without mass": Grid.nodes(IRREGULAR, weights=[1, 2, 0, 1, 3, 1, 1, 1]),
}
GRIDS_2D = {
    "uniform x uniform": Grid.product(Grid.uniform(0, 1, 7), Grid.uniform(-1, 1, 9)),
    "cells x nodes": Grid.product(Grid.cells(0, 2, 6), Grid.nodes(IRREGULAR)),
    "periodic x uniform": Grid.product(Grid.periodic(0, 1, 8), Grid.uniform(0, 3, 5)),
}
GRIDS_3D = {
    "uniform x cells x nodes": Grid.product(Grid.uniform(0, 1, 4), Grid.cells(0, 1, 5), Grid.nodes([0, 0.2, 1]))
}
GRIDS = GRIDS_1D | GRIDS_2D | GRIDS_3D


def fields(grid: Grid, n: int = 3, *, seed: int = 0) -> torch.Tensor:
    """Smooth random fields of order one, `(n, *grid)` in float64."""
    rng = np.random.default_rng(seed)
    u = np.zeros((n, *grid.shape))
    for _ in range(4):
        frequency, phase, size = rng.normal(0, 2, grid.ndim), rng.uniform(0, 6, n), rng.normal(0, 0.7, n)
        wave = grid.points @ frequency
        u += size.reshape(n, *[1] * grid.ndim) * np.sin(wave + phase.reshape(n, *[1] * grid.ndim))
    return torch.as_tensor(u)


def inner(v: torch.Tensor, w: torch.Tensor, grid: Grid) -> torch.Tensor:
    """`<v, w>_mu` of fields `(n, *grid)`."""
    return torch.einsum("ij,j->i", (v * w).flatten(1), torch.as_tensor(grid.weights).flatten())


def functionals(grid: Grid) -> dict[str, fn.Functional]:
    """One of every kind that is defined on `grid`."""
    middle = [(a.lower + a.upper) / 2 for a in grid.axes]
    place = (lambda x: x) if grid.ndim == 1 else (lambda x: x[..., 0])
    half = lambda x: place(x) < middle[0]  # noqa: E731
    g = {
        "mean": fn.Mean(),
        "auc": fn.AUC(),
        "time above": fn.TimeAbove(0.2, 6.0),
        "time below": fn.TimeBelow(0.2, 6.0),
        "time in range": fn.TimeInRange(-0.3, 0.4, 5.0),
        "excess above": fn.ExcessAbove(0.1, 8.0),
        "energy": fn.Energy(),
        "tracking a number": fn.TrackingError(0.5),
        "tracking a curve": fn.TrackingError(lambda x: torch.sin(place(x))),
        "point value": fn.PointValue(middle, 0.4),
        "soft maximum": fn.SoftMax(5.0),
        "soft minimum": fn.SoftMin(5.0),
        "own integral": fn.Integral(lambda u, x: torch.exp(0.3 * u) * torch.cos(place(x))),
    }
    if (grid.weights > 0).all():  # these read every node, so that every node must carry mass
        g["flux"] = fn.Flux(0)
        g["flux through a region"] = fn.Flux(grid.ndim - 1, region=half, conductivity=lambda x: 1 + place(x) ** 2)
        g["own functional"] = fn.functional(lambda u, grid: u.square().mean() / (1 + u.mean().square()))
    if (grid.weights > 0).all() and all(a.kind != "periodic" for a in grid.axes):
        g["flux across a face"] = fn.Flux(0, boundary="lower", conductivity=2.0)
    g["linear combination"] = 2 * g["energy"] - g["auc"] / 3 + 1
    g["product"] = g["energy"] * g["soft maximum"]
    g["ratio"] = g["energy"] / (2 + g["time above"])
    g["integral in a region"] = g["time above"].within(half)
    g["point value in a region"] = g["point value"].within(half)
    g["maximum in a region"] = g["soft maximum"].within(half)
    return g


def cases(grids: dict[str, Grid]) -> list:
    """`(grid, functional)` pairs with readable names, for `pytest.mark.parametrize`."""
    import pytest

    return [
        pytest.param(grid, g, id=f"{where}-{name}")
        for where, grid in grids.items()
        for name, g in functionals(grid).items()
    ]


def data(grid: Grid, n: int = 6, k: int = 4, *, channels: int = 2, seed: int = 0, **kw) -> OperatorData:
    """Valid data with points anywhere in the domain of `grid`."""
    rng = np.random.default_rng(seed)
    lower, upper = (np.array([getattr(a, end) for a in grid.axes]) for end in ("lower", "upper"))
    points = rng.uniform(lower, upper, (n, k, grid.ndim))
    return OperatorData(rng.normal(size=(n, channels, *grid.shape)), points, rng.normal(size=(n, k)), grid=grid, **kw)
