"""Cross-fitting plans: nobody is predicted by a network that saw them, or their group, or chose by them."""

import numpy as np
import pytest

from dope import DataError
from dope.nuisances import Plan, child_seed

GROUPS = np.repeat([f"p{i}" for i in range(12)], [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6])


def draw(n=42, **kw):
    return Plan.draw(n, **({"folds": 4, "repeats": 3, "seed": 7, "validation": 0.25} | kw))


@pytest.mark.parametrize("group", [None, GROUPS])
@pytest.mark.parametrize("role", ["solution", "weights"])
def test_networks_never_meet_the_units_they_predict(group, role):
    plan = draw(group=group)
    tasks = plan.tasks(role)
    label = np.arange(42) if group is None else group
    for m, _, units in plan.held_out():
        train, validate = tasks[m].train, tasks[m].validate
        assert len(train) > 0
        assert len(validate) > 0
        parts = [set(label[p]) for p in (train, validate, units)]
        assert not parts[0] & parts[1]
        assert not (parts[0] | parts[1]) & parts[2]
        assert sorted(np.concatenate([train, validate, units])) == list(range(42))


def test_every_unit_is_held_out_once_a_repeat_and_folds_are_even():
    plan = draw(n=43)
    for r in range(plan.repeats):
        held = np.concatenate([u for _, s, u in plan.held_out() if s == r])
        assert sorted(held) == list(range(43))
        sizes = np.bincount(plan.fold[r])
        assert sizes.max() - sizes.min() <= 1


def test_repeats_differ_and_seeds_reproduce():
    plan, again, other = draw(), draw(), draw(seed=8)
    np.testing.assert_array_equal(plan.fold, again.fold)
    assert not np.array_equal(plan.fold[0], plan.fold[1])
    assert not np.array_equal(plan.fold, other.fold)


def test_a_repeat_does_not_depend_on_how_many_there_are():
    np.testing.assert_array_equal(draw(repeats=1).fold[0], draw(repeats=3).fold[0])


def test_both_roles_share_the_split_but_not_the_seed():
    plan = draw()
    for a, b in zip(plan.tasks("solution"), plan.tasks("weights"), strict=True):
        np.testing.assert_array_equal(a.validate, b.validate)
        assert a.seed != b.seed
    seeds = [t.seed for role in ("solution", "weights") for t in plan.tasks(role)]
    assert len(set(seeds)) == len(seeds)


def test_seeds_depend_on_the_place_only():
    assert child_seed(3, "solution", 0, 1) == child_seed(3, "solution", 0, 1)
    assert child_seed(3, "solution", 0, 1) != child_seed(3, "solution", 1, 0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n": 3}, "3 units cannot be split into 4 folds"),
        ({"folds": 1}, "at least 2"),
        ({"repeats": 0}, "repeats"),
        ({"group": np.repeat(["a", "b"], 21)}, "2 groups cannot be split into 4 folds"),
    ],
)
def test_impossible_plans_are_refused(wrong, message):
    with pytest.raises(DataError, match=message):
        draw(**wrong)


def test_the_smallest_data_still_trains():
    for task in Plan.draw(2, folds=2, repeats=1, seed=0, validation=0.2).tasks("solution"):
        assert len(task.train) == 1
        assert len(task.validate) == 0
