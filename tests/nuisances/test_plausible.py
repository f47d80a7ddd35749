"""Weights that cannot be right are scaled down, and no others."""

import numpy as np

import dope
from dope.nuisances import plausible

GRID = dope.Grid.uniform(0, 1, 33)


def data_of(points):
    n = len(points)
    return dope.OperatorData(np.ones((n, 33)), points, np.zeros(np.shape(points)), grid=GRID)


def test_right_weights_are_left_alone():
    """Points of density 2 x are heavy-tailed for their inverse 1 / (2 x): their means over 24 points scatter widely."""
    rng = np.random.default_rng(0)
    data = data_of(np.sqrt(rng.uniform(0.0005, 1, (2000, 24))))
    xi = np.tile(0.5 / np.maximum(GRID.points[:, 0], 1 / 33), (2000, 1))
    assert (plausible(xi, data) != xi).any(axis=1).mean() < 0.002


def test_a_unit_far_beyond_is_brought_back_and_the_others_are_not():
    rng = np.random.default_rng(1)
    data = data_of(rng.uniform(0, 1, (10, 24)))
    xi = 1 + 0.2 * rng.standard_normal((10, 33))
    wild = xi.copy()
    wild[3] *= 20
    out = plausible(wild, data)
    np.testing.assert_array_equal(np.delete(out, 3, 0), np.delete(xi, 3, 0))
    assert np.isclose(data.stencil(out)[3].mean(), 1)
    np.testing.assert_allclose(out[3] / wild[3], (out[3] / wild[3])[0])


def test_a_single_point_or_none_says_nothing():
    points = np.full((2, 3), np.nan)
    points[0, 0] = 0.5
    data = dope.OperatorData(np.ones((2, 33)), points, np.where(np.isnan(points), np.nan, 1.0), grid=GRID)
    xi = np.full((2, 33), 30.0)
    np.testing.assert_array_equal(plausible(xi, data), xi)
