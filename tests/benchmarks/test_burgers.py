"""Burgers' world, held against a fine pseudo-spectral integration and a solution in closed form."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dope.benchmarks import burgers
from dope.benchmarks.burgers import evolve
from dope.data import DataError, Grid
from dope.functionals.base import evaluate, representers

NU, T = 0.01, 0.5


def integrated(start, fine=256):
    """The solution at the nodes of `start` by the method of lines with `fine` Fourier modes and an adaptive step."""
    size = len(start)
    frequency = 2j * np.pi * np.arange(fine // 2 + 1)
    spectrum = np.zeros(fine // 2 + 1, dtype=complex)
    spectrum[: size // 2] = np.fft.rfft(start)[: size // 2] * fine / size

    def slope(t, u):
        flux = -0.5 * frequency * np.fft.rfft(u * u) + NU * frequency**2 * np.fft.rfft(u)
        return np.fft.irfft(flux, fine)

    out = solve_ivp(slope, (0, T), np.fft.irfft(spectrum, fine), method="DOP853", rtol=1e-9, atol=1e-10, t_eval=[T])
    return out.y[:: fine // size, 0]


# ---- solver -------------------------------------------------------------------------------------------
def test_solutions_equal_a_fine_spectral_integration_of_the_shown_waves():
    draw = burgers().sample(6, seed=0)
    # the integration's tolerance, and modes beyond 128 of a front of width 4 nu / 2.5: exp(-20)
    for start, u in zip(draw.inputs[:, 0].astype(np.float64), draw.solutions, strict=True):
        np.testing.assert_allclose(u, integrated(start), rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [64, 97, 128])
def test_solutions_equal_one_in_closed_form(size):
    # v = 2 + cos(2 pi x) decays to 2 + e^(-4 pi^2 nu t) cos(2 pi x), and u = -2 nu v_x / v
    x = np.arange(size) / size

    def u(t):
        decay = np.exp(-4 * np.pi**2 * NU * t)
        return 4 * np.pi * NU * decay * np.sin(2 * np.pi * x) / (2 + decay * np.cos(2 * np.pi * x))

    np.testing.assert_allclose(evolve(u(0.0)[None])[0], u(T), rtol=0, atol=1e-11)


@pytest.mark.parametrize("size", [9, 50, 128, 600])
def test_the_grid_changes_no_solution(size):
    # the waves have four modes, so that every grid of nine nodes or more holds all of them
    z = 0.4 * np.random.default_rng(1).standard_normal((4, 9))

    def solution(nodes):
        angle = 2 * np.pi * np.arange(1, 5)[:, None] * np.arange(nodes) / nodes
        return evolve(z @ np.concatenate([np.ones((1, nodes)), np.cos(angle), np.sin(angle)]))

    np.testing.assert_allclose(solution(size), solution(3 * size)[:, ::3], rtol=0, atol=1e-9)


def test_a_mean_carries_the_wave_along():
    # Galilean invariance: 0.25 for a time of 0.5 is 16 of 128 nodes
    start = burgers().sample(5, seed=2).inputs[:, 0].astype(np.float64)
    still = evolve(start - start.mean(axis=1, keepdims=True))
    moving = evolve(start - start.mean(axis=1, keepdims=True) + 0.25)
    np.testing.assert_allclose(moving, 0.25 + np.roll(still, 16, axis=1), rtol=0, atol=1e-9)


def test_the_mean_is_kept_energy_is_lost_and_no_wave_outgrows_its_start():
    draw = burgers().sample(500, seed=3)
    start, u = draw.inputs[:, 0].astype(np.float64), draw.solutions
    # fronts have a few nodes, so the mean over nodes is the integral up to aliasing beyond mode 64
    np.testing.assert_allclose(u.mean(axis=1), start.mean(axis=1), atol=1e-4)
    assert ((u**2).mean(axis=1) < (start**2).mean(axis=1)).all()
    # the start is bounded between its nodes too: four modes rise above 128 nodes by less than 1 %
    reach = 0.01 * np.ptp(start, axis=1)
    assert (u.max(axis=1) <= start.max(axis=1) + reach).all()
    assert (u.min(axis=1) >= start.min(axis=1) - reach).all()


# ---- world --------------------------------------------------------------------------------------------
def test_waves_start_with_the_stated_size_and_no_preferred_place():
    start = burgers().sample(4000, seed=4).inputs[:, 0].astype(np.float64)
    # 5 standard errors of a variance of 4000 units: 5 sqrt(2 / 4000) = 11 %
    np.testing.assert_allclose(start.var(axis=0), 0.3**2 + 0.6**2, rtol=0.11)
    np.testing.assert_allclose(start.mean(axis=1).std(), 0.3, rtol=0.06)


def test_steep_places_are_observed_more_often():
    world = burgers(0.5)
    draw = world.sample(300, seed=5)
    p = draw.design.probability
    for u, chance in zip(draw.solutions[:20], p, strict=False):
        steep = np.array([abs(u[(j + 1) % 128] - u[j - 1]) for j in range(128)])
        np.testing.assert_allclose(chance, 0.5 / 128 + 0.5 * steep / steep.sum(), rtol=1e-12)


def test_the_energy_and_its_representer_in_closed_form():
    world = burgers()
    u = world.sample(10, seed=6).solutions
    g = world.functionals["energy"]
    np.testing.assert_allclose(evaluate(g, u, world.grid), (u**2).mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(representers(g, u, world.grid), 2 * u, rtol=1e-12)


def test_the_grid_is_periodic_and_holds_all_modes():
    assert burgers(size=32).grid.same_as(Grid.periodic(0, 1, 32))
    with pytest.raises(DataError, match="size must be at least 9"):
        burgers(size=8)
