"""Synthetic score tables: the only thing that inference sees."""

import numpy as np
import pytest

from dope.scores import Scores


@pytest.fixture
def table():
    """A factory of score tables from arrays, or of random ones of a given shape."""

    def make(
        plugin=None,
        correction=None,
        *,
        repeats=1,
        n=40,
        count=1,
        folds=5,
        inputs=0,
        group=None,
        ids=None,
        names=None,
        seed=0,
        **more,
    ):
        rng = np.random.default_rng(seed)
        if plugin is None:
            level = np.arange(1, count + 1, dtype=float)
            truth = rng.standard_normal((1, n, count)) @ (np.eye(count) + 0.4) + level
            plugin = 0.8 * truth + 0.1 * rng.standard_normal((repeats, n, count))
            correction = 0.2 * truth + 0.3 * rng.standard_normal((repeats, n, count))
        repeats, n, count = plugin.shape
        if correction is None:
            correction = np.zeros_like(plugin)
        fold = np.stack([rng.permutation(np.arange(n) % folds) for _ in range(repeats)])
        if inputs:
            more["unlabeled"] = 0.8 * rng.standard_normal((repeats, folds, inputs, count)) + plugin.mean((0, 1))
        ids = np.arange(n) if ids is None else ids
        names = tuple(f"g{k}" for k in range(count)) if names is None else names
        return Scores(plugin, correction, fold, ids, names, group=group, **more)

    return make
