"""Interpolation is multilinear, linear in the field, and computed once per set of points."""

import numpy as np
import pytest
import torch
from scipy.interpolate import RegularGridInterpolator

from dope.data import Grid, interpolate
from helpers import GRIDS, GRIDS_2D, GRIDS_3D, data

# Coordinates within 1e-7 of a cell from a node are taken to lie on it; the fields here change by order one a cell.
TOLERANCE = 1e-6
INTERVALS = {k: g for k, g in GRIDS.items() if all(a.kind in ("uniform", "nodes") for a in g.axes)}


def inner_points(grid, size=50, seed=0):
    """Points between the outermost nodes, where cells need no clamping and no axis wraps."""
    rng = np.random.default_rng(seed)
    return rng.uniform([a.nodes[0] for a in grid.axes], [a.nodes[-1] for a in grid.axes], (size, grid.ndim))


def at(grid, field, points):
    """The field's values at points (K, d)."""
    return grid.locate(points[None])(field[None])[0]


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_multilinear_functions_are_reproduced(grid):
    def f(x):
        return np.prod(1.5 + np.arange(1, grid.ndim + 1) * x, axis=-1)

    points = inner_points(grid)
    np.testing.assert_allclose(at(grid, f(grid.points), points), f(points), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_equals_scipy_between_the_nodes(grid):
    field = np.random.default_rng(1).normal(size=grid.shape)
    points = inner_points(grid)
    theirs = RegularGridInterpolator([a.nodes for a in grid.axes], field)(points)
    np.testing.assert_allclose(at(grid, field, points), theirs, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_shares_are_a_convex_combination(grid):
    stencil = grid.locate(inner_points(grid))
    assert (stencil.weight >= 0).all()
    np.testing.assert_allclose(stencil.weight.sum(-1), 1, rtol=1e-12)
    assert stencil.index.shape[-1] <= 2**grid.ndim


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_points_on_nodes_need_one_corner_and_return_the_node(grid):
    field = np.random.default_rng(2).normal(size=grid.shape)
    nodes = grid.points.reshape(-1, grid.ndim)
    stencil = grid.locate(nodes)
    assert stencil.index.shape == (grid.size, 1)
    np.testing.assert_array_equal(at(grid, field, nodes), field.reshape(-1))


def test_nodes_computed_by_another_formula_still_need_one_corner():
    grid = Grid.uniform(0, 24, 128)
    nodes = (24 / 127 * np.arange(128))[:, None]
    for offset in (-1e-9, 0, 1e-9):
        assert grid.locate(nodes + offset).index.shape[-1] == 1


def test_periodic_axes_wrap():
    grid = Grid.periodic(0, 1, 4)
    field = np.array([1.0, 2.0, 3.0, 5.0])
    x = np.array([[0.75], [0.875], [1.0], [0.9999999999]])
    np.testing.assert_allclose(at(grid, field, x), [5, 3, 1, 1], atol=TOLERANCE)


def test_cells_are_constant_beyond_the_outer_centres():
    grid = Grid.cells(0, 1, 4)
    field = np.array([1.0, 2.0, 3.0, 5.0])
    x = np.array([[0.0], [0.1], [0.125], [0.25], [0.9], [1.0]])
    np.testing.assert_allclose(at(grid, field, x), [1, 1, 1, 1.5, 5, 5], atol=TOLERANCE)


@pytest.mark.parametrize("grid", INTERVALS.values(), ids=INTERVALS)
def test_the_ends_of_the_domain_belong_to_it(grid):
    ends = np.array([[a.lower for a in grid.axes], [a.upper for a in grid.axes]])
    assert grid.contains(ends).all()
    assert not grid.contains(ends + 0.01 * np.array([[-1.0], [1.0]])).any()
    field = np.random.default_rng(3).normal(size=grid.shape)
    np.testing.assert_array_equal(at(grid, field, ends), [field.flat[0], field.flat[-1]])


def tensors(grid, seed=0):
    """Fields (n, nodes) with the stencil of scattered points, as torch tensors."""
    d = data(grid, seed=seed)
    field = torch.as_tensor(np.random.default_rng(seed).normal(size=(len(d), grid.size)))
    return field, torch.as_tensor(d.stencil.index), torch.as_tensor(d.stencil.weight), d


@pytest.mark.parametrize("grid", (GRIDS_2D | GRIDS_3D).values(), ids=GRIDS_2D | GRIDS_3D)
def test_torch_and_numpy_agree(grid):
    field, index, weight, d = tensors(grid)
    theirs = d.stencil(field.numpy().reshape(-1, *grid.shape))
    np.testing.assert_allclose(interpolate(field, index, weight), theirs, rtol=1e-12)


def test_vmap_over_models_that_share_their_points():
    field, index, weight, _ = tensors(GRIDS_2D["cells x nodes"])
    models = torch.stack([field, field.flip(0), 2 * field])
    stacked = torch.vmap(lambda f: interpolate(f, index, weight))(models)
    torch.testing.assert_close(stacked, torch.stack([interpolate(f, index, weight) for f in models]))


def test_vmap_over_models_with_points_of_their_own():
    field, index, weight, _ = tensors(GRIDS_2D["cells x nodes"])
    order = torch.stack([torch.arange(len(field)), torch.arange(len(field)).flip(0)])
    stacked = torch.vmap(interpolate)(field[order], index[order], weight[order])
    torch.testing.assert_close(stacked, torch.stack([interpolate(field[o], index[o], weight[o]) for o in order]))


def test_the_derivative_of_a_linear_map_is_the_map():
    field, index, weight, _ = tensors(GRIDS_2D["cells x nodes"])
    direction = torch.randn_like(field)
    value, slope = torch.func.jvp(lambda f: interpolate(f, index, weight), (field,), (direction,))
    torch.testing.assert_close(value, interpolate(field, index, weight))
    torch.testing.assert_close(slope, interpolate(direction, index, weight))


def test_the_gradient_spreads_a_value_over_its_corners():
    field, index, weight, _ = tensors(GRIDS_2D["cells x nodes"])
    gradient = torch.func.grad(lambda f: interpolate(f, index, weight).sum())(field)
    expected = torch.zeros_like(field).scatter_add(1, index.flatten(1), weight.flatten(1))
    torch.testing.assert_close(gradient, expected)
