"""Known designs: inverse weights turn averages over observed points into integrals."""

import numpy as np
import pytest

from dope.data import DataError, Design, Grid, inclusion_probabilities
from helpers import GRIDS


def law(grid, n=4, seed=0):
    """Unequal probabilities on the nodes that carry mass, `(n, *grid)`."""
    p = np.random.default_rng(seed).dirichlet(np.ones(grid.size), n).reshape(n, *grid.shape) + 0.1 / grid.size
    return p / p.reshape(n, -1).sum(1).reshape(n, *[1] * grid.ndim)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_weighted_by_its_inverse_the_law_is_the_reference_measure(grid):
    p = law(grid)
    xi = Design(probability=p).inverse_weight(grid, np.full(4, 3))
    np.testing.assert_allclose(p * xi, np.broadcast_to(grid.weights, p.shape), rtol=1e-12)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_inclusion_decides_where_points_were_drawn_without_replacement(grid):
    p = law(grid)
    pi = inclusion_probabilities(p.reshape(4, -1), 5).reshape(p.shape)
    xi = Design(probability=p, inclusion=pi).inverse_weight(grid, np.full(4, 5))
    np.testing.assert_allclose(pi / 5 * xi, np.broadcast_to(grid.weights, p.shape), rtol=1e-9)


def test_lost_observations_do_not_change_the_law_of_those_left():
    grid = Grid.uniform(0, 1, 6)
    design = Design(inclusion=inclusion_probabilities(law(grid), 4))
    np.testing.assert_array_equal(
        design.inverse_weight(grid, np.array([4, 4, 4, 4])), design.inverse_weight(grid, np.array([4, 3, 1, 0]))
    )


def test_a_density_is_taken_with_respect_to_the_reference_measure():
    grid = Grid.nodes([0, 1, 4], weights=[1, 0, 1])
    xi = Design(density=np.array([[2.0, 0.0, 0.5]])).inverse_weight(grid, np.array([3]))
    np.testing.assert_allclose(xi, [[0.5, 0, 2]])


def test_the_weighted_mean_of_sampled_points_is_the_mean_over_the_domain():
    grid = Grid.uniform(0, 1, 20)
    f = np.exp(2 * grid.points[..., 0])
    p = np.exp(-3 * grid.points[..., 0])
    p /= p.sum()
    rng, k, n, truth = np.random.default_rng(0), 8, 4000, grid.mean(f[None])[0]
    drawn = np.stack([rng.choice(20, k, replace=False, p=p) for _ in range(n)])

    def mean(design):
        return (design.inverse_weight(grid, np.array([k]))[0] * f)[drawn].mean(1)

    simulated = mean(Design(inclusion=inclusion_probabilities(p, k, draws=40_000)))
    error = simulated.std() / np.sqrt(n)
    assert abs(simulated.mean() - truth) < 4 * error
    # with so unequal p and so few points the equation's O(1/K) is 1.3 % here, the law of one draw is off by 31 %
    solved = mean(Design(inclusion=inclusion_probabilities(p, k)))
    assert abs(solved.mean() - truth) < 0.02 * truth + 4 * error
    assert mean(Design(probability=p[None])).mean() - truth > 0.2 * truth


def test_a_node_with_mass_that_is_never_observed_is_refused():
    grid = Grid.uniform(0, 1, 4)
    p = np.array([[0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0, 0]])
    with pytest.raises(DataError, match=r"position 1 can never be observed at 2 node\(s\).*grid.restricted"):
        Design(probability=p).inverse_weight(grid, np.array([1, 1]))
    # the remedy that the message names
    part = grid.restricted(np.array([True, True, False, False]))
    np.testing.assert_allclose(Design(probability=p).inverse_weight(part, np.array([1, 1]))[1, 2:], 0)
    # a unit that was not observed at all needs no weights
    assert Design(inclusion=np.array([[0.5] * 4, [0.0] * 4])).inverse_weight(grid, np.array([2, 0])).shape == (2, 4)


def test_take_picks_units():
    design = Design(probability=law(Grid.uniform(0, 1, 5)), inclusion=np.full((4, 5), 0.4)).take(np.array([3, 1]))
    np.testing.assert_array_equal(design.probability, law(Grid.uniform(0, 1, 5))[[3, 1]])
    assert design.inclusion.shape == (2, 5)
    assert design.density is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs probability, inclusion or density"),
        ({"probability": np.full((1, 2), 0.5), "density": np.ones((1, 2))}, "not both: drop one"),
        ({"probability": np.array([[0.5, 0.5], [1.5, -0.5]])}, r"position 1 has -0.5 at node \(1,\)"),
        ({"density": np.array([[1.0, np.nan]])}, r"position 0 has nan at node \(1,\)"),
        ({"inclusion": np.array([[0.5, 1.5]])}, "inclusion must be between 0 and 1"),
        ({"probability": np.array([[0.5, 0.5], [0.5, 0.7]])}, "position 1 sums to 1.2 .*divide"),
        ({"probability": np.array([0.5, 0.5])}, r"shape \(2,\), expected \(n, \*grid\)"),
        ({"probability": np.full((1, 2), 0.5), "inclusion": np.ones((1, 3))}, "same units and nodes"),
    ],
)
def test_impossible_designs_are_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        Design(**arguments)


def test_a_design_of_other_units_is_refused():
    with pytest.raises(DataError, match=r"shape \(2, 3\), expected \(n, \*grid\) = \(3, 3\)"):
        Design(probability=np.full((2, 3), 1 / 3)).inverse_weight(Grid.uniform(0, 1, 3), np.ones(3))


# ---- inclusion probabilities ---------------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 7, 19, 20])
def test_equal_probabilities_are_included_equally(size):
    np.testing.assert_allclose(inclusion_probabilities(np.full(20, 0.05), size), size / 20, rtol=1e-11)


@pytest.mark.parametrize("concentration", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("size", [1, 5, 24, 40])
def test_inclusion_probabilities_sum_to_the_number_drawn(concentration, size):
    p = np.random.default_rng(0).dirichlet(np.full(40, concentration), 5)
    pi = inclusion_probabilities(p, size)
    np.testing.assert_allclose(pi.sum(1), size, rtol=1e-9)
    assert ((pi >= 0) & (pi <= 1)).all()
    order = np.argsort(p, axis=1)
    assert (np.diff(np.take_along_axis(pi, order, 1)) >= -1e-12).all()


def test_the_equation_agrees_with_monte_carlo():
    p = np.random.default_rng(1).dirichlet(np.full(60, 2.0), 2)
    exact, simulated = inclusion_probabilities(p, 20), inclusion_probabilities(p, 20, draws=4000, seed=3)
    # four standard errors of a simulated share, 4 sqrt(0.25 / 4000) = 0.032, and O(1/K) of the approximation
    assert np.abs(exact - simulated).max() < 0.04
    np.testing.assert_allclose(simulated.sum(1), 20)
    np.testing.assert_array_equal(simulated, inclusion_probabilities(p, 20, draws=4000, seed=3))


@pytest.mark.parametrize("draws", [0, 50])
def test_nodes_without_probability_are_never_included(draws):
    p = np.array([[0.5, 0.3, 0.2, 0.0], [0.25, 0.25, 0.25, 0.25]])
    pi = inclusion_probabilities(p, 3, draws=draws)
    np.testing.assert_allclose(pi[0], [1, 1, 1, 0])
    assert pi[1].sum() == pytest.approx(3)


def test_more_points_than_nodes_are_refused():
    with pytest.raises(DataError, match=r"position 1: 3 distinct points asked for, but only 2 have positive"):
        inclusion_probabilities(np.array([[0.2, 0.3, 0.5], [0.5, 0.5, 0.0]]), 3)
