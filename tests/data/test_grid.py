"""Quadrature weights are a probability measure that integrates what its rule promises."""

import numpy as np
import pytest
import torch

from dope.data import DataError, Grid
from helpers import GRIDS, GRIDS_1D, IRREGULAR

# Sums of some hundred float64 products: rounding only.
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_weights_are_a_probability_measure(grid):
    assert grid.weights.shape == grid.shape == grid.points.shape[:-1]
    assert (grid.weights >= 0).all()
    np.testing.assert_allclose(grid.weights.sum(), 1, **EXACT)
    np.testing.assert_allclose(grid.mean(np.full((2, *grid.shape), 3.0)), [3, 3], **EXACT)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_arrays_and_tensors_have_the_same_mean(grid):
    field = np.random.default_rng(0).normal(size=(2, 3, *grid.shape))
    np.testing.assert_allclose(grid.mean(torch.as_tensor(field)), grid.mean(field), **EXACT)
    assert grid.mean(torch.as_tensor(field).float()).dtype == torch.float32


@pytest.mark.parametrize("kind", ["uniform", "cells", "nodes"])
def test_linear_functions_are_integrated_exactly(kind):
    grid = GRIDS_1D[kind]
    axis = grid.axes[0]
    mean = grid.mean((2 * grid.points[..., 0] - 5)[None])
    np.testing.assert_allclose(mean, [axis.lower + axis.upper - 5], **EXACT)


def test_periodic_weights_integrate_every_resolved_wave_exactly():
    grid = Grid.periodic(0, 2, 16)
    x = grid.points[..., 0]
    waves = np.stack([np.cos(np.pi * k * x + 0.3) for k in range(1, 16)])
    np.testing.assert_allclose(grid.mean(waves), 0, **EXACT)


def test_given_weights_are_normalised():
    grid = Grid.nodes([0, 1, 4], weights=[2, 0, 6])
    np.testing.assert_allclose(grid.weights, [0.25, 0, 0.75])
    assert grid.measure == 4


def test_nodes_lie_where_each_kind_says():
    np.testing.assert_allclose(Grid.uniform(0, 1, 5).points[:, 0], [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(Grid.periodic(0, 1, 4).points[:, 0], [0, 0.25, 0.5, 0.75])
    np.testing.assert_allclose(Grid.cells(0, 1, 4).points[:, 0], [0.125, 0.375, 0.625, 0.875])
    np.testing.assert_allclose(Grid.nodes(IRREGULAR).points[:, 0], IRREGULAR)


def test_products_multiply_weights_and_measures():
    gx, gy, gz = Grid.nodes(IRREGULAR), Grid.cells(0, 3, 4), Grid.uniform(1, 2, 3)
    grid = Grid.product(gx, gy, gz)
    assert (grid.shape, grid.ndim, grid.size) == ((8, 4, 3), 3, 96)
    assert grid.measure == pytest.approx(2 * 3 * 1)
    np.testing.assert_allclose(grid.weights, np.einsum("i,j,k", gx.weights, gy.weights, gz.weights), **EXACT)
    # products of linear functions factorise under a product measure
    x, y, z = np.moveaxis(grid.points, -1, 0)
    np.testing.assert_allclose(grid.mean((x * y * z)[None]), 1.0 * 1.5 * 1.5, **EXACT)
    assert grid.same_as(Grid.product(Grid.product(gx, gy), gz))


def test_a_restriction_is_the_conditional_measure():
    grid = Grid.cells(0, 4, 8)
    part = grid.restricted(grid.points[..., 0] < 1)
    np.testing.assert_allclose(part.weights.sum(), 1, **EXACT)
    assert part.measure == pytest.approx(1)
    np.testing.assert_allclose(part.mean(grid.points[..., 0][None]), 0.5, **EXACT)
    assert not part.same_as(grid)


def test_restricting_twice_is_restricting_to_the_intersection():
    grid = Grid.uniform(0, 1, 11)
    x = grid.points[..., 0]
    twice, once = grid.restricted(x < 0.75).restricted(x > 0.25), grid.restricted((x < 0.75) & (x > 0.25))
    np.testing.assert_allclose(twice.weights, once.weights, **EXACT)
    assert twice.measure == pytest.approx(once.measure)


def test_a_product_of_restrictions_is_the_restriction_of_the_product():
    gx, gy = Grid.uniform(0, 1, 5), Grid.cells(0, 1, 4)
    left = gx.points[..., 0] < 0.6
    of_parts, part = Grid.product(gx.restricted(left), gy), Grid.product(gx, gy).restricted(left[:, None])
    np.testing.assert_allclose(of_parts.weights, part.weights, **EXACT)
    assert of_parts.measure == pytest.approx(part.measure)


def test_same_as_compares_nodes_and_weights():
    assert Grid.uniform(0, 1, 5).same_as(Grid.uniform(0, 1, 5))
    assert not Grid.uniform(0, 1, 5).same_as(Grid.uniform(0, 1, 6))
    assert not Grid.uniform(0, 1, 5).same_as(Grid.uniform(0, 2, 5))
    assert not Grid.periodic(0, 1, 4).same_as(Grid.nodes([0, 0.25, 0.5, 0.75]))


def test_a_grid_does_not_follow_later_changes_of_the_users_array():
    points = np.array([0.0, 1.0, 2.0])
    grid = Grid.nodes(points)
    points[1] = 1.9
    assert grid.points[1, 0] == 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Grid.uniform(1, 0, 5), r"finite lower < upper, got \[1, 0\]: swap or correct"),
        (lambda: Grid.cells(0, np.nan, 5), "finite lower < upper"),
        (lambda: Grid.uniform("0", 1, 5), "finite lower < upper"),
        (lambda: Grid.nodes(["dawn", "noon"]), "points must be numbers"),
        (lambda: Grid.periodic(0, 1, 1), "at least 2 points, got 1: pass how many nodes"),
        (lambda: Grid.uniform(0, 1, 4.5), "whole number of at least 2 points, got 4.5"),
        (lambda: Grid.uniform(0, 1, float("nan")), "whole number"),
        (lambda: Grid.nodes([0, 2, 1]), r"point 2 \(1\) does not exceed point 1 \(2\): sort"),
        (lambda: Grid.nodes([0, 1, 1]), "drop duplicates"),
        (lambda: Grid.nodes([0, np.nan, 1]), "point 1 is not finite: remove it"),
        (lambda: Grid.nodes([[0, 1], [2, 3]]), r"1-D array of at least 2 points, got shape \(2, 2\)"),
        (lambda: Grid.nodes([0, 1, 2], weights=[1, 1]), r"3 points but weights of shape \(2,\)"),
        (lambda: Grid.nodes([0, 1, 2], weights=[1, -1, 1]), "not negative"),
        (lambda: Grid.nodes([0, 1, 2], weights=[0, 0, 0]), "not all zero"),
        (lambda: Grid.product(), "at least one grid"),
        (lambda: Grid.product(Grid.uniform(0, 1, 3), [0, 1]), r"got list: wrap points in Grid.nodes"),
        (lambda: Grid.uniform(0, 1, 5).restricted(np.zeros(5, bool)), "no grid node of positive weight: widen it"),
    ],
)
def test_impossible_grids_are_refused_with_what_to_do(make, message):
    with pytest.raises(DataError, match=message):
        make()
