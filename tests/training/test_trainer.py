"""One trainer for many networks: the same networks as one by one, each with its own data and best state."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from dope import FNO, DataError, Grid, Recipe
from dope.training import Task, ensemble, no_progress, train, trainer
from dope.training.checkpoint import Checkpoint

GRID = Grid.uniform(0, 1, 16)
CPU = torch.device("cpu")


def loss(fields, batch):
    return ((fields - batch["target"]) ** 2).mean(-1)


def pool(n=40, seed=0):
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(n, 1, 16, generator=generator)
    return {"inputs": inputs, "target": inputs[:, 0].cumsum(-1) / 16 + 0.1 * torch.randn(n, 16, generator=generator)}


def tasks(count=3, train=20, held=5, n=40):
    rng = np.random.default_rng(1)
    out = []
    for m in range(count):
        order = rng.permutation(n)
        out.append(Task(100 + m, order[: train + (m == 1)], order[30 : 30 + held]))
    return out


def make(task):
    return FNO(width=6, modes=4, layers=2).build(GRID, 1)


def states(ensemble, m):
    return {k: v[m] for k, v in ensemble.parameters.items()}


RECIPES = {
    "recommended": Recipe(epochs=8, batch=4),
    "constant, unclipped, last state": Recipe(epochs=8, batch=4, schedule="constant", clip=None, validation=0),
    "tight clip": Recipe(epochs=8, batch=4, clip=0.01),
}


@pytest.mark.parametrize("name", RECIPES)
def test_together_as_one_by_one(name):
    """After the same steps the parameters agree to 1e-5: batched products round differently, nothing else."""
    recipe, work = RECIPES[name], tasks(held=0 if "last" in name else 5)
    together = train(make, loss, pool(), work, recipe, device=CPU)
    for m, task in enumerate(work):
        alone = train(make, loss, pool(), [task], recipe, device=CPU)
        for k, v in states(together, m).items():
            torch.testing.assert_close(v, alone.parameters[k][0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", RECIPES)
def test_a_network_is_what_a_plain_loop_makes_of_it(name):
    """Against torch's own pieces, one network at a time: Adam unfused, its gradient clipping, no stacking.

    Gradients of stacked products come transposed in memory, and an optimiser that reads them in order of memory trains
    every weight on the gradient of another one.
    """
    recipe = replace(RECIPES[name], validation=0)
    (task,) = tasks(1, held=0)
    with torch.random.fork_rng():
        torch.manual_seed(task.seed)
        net = make(task)
    optimiser = torch.optim.Adam(net.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay, fused=False)
    rng, data, steps = np.random.default_rng(task.seed), pool(), recipe.steps(len(task.train))
    passes = np.tile(np.arange(len(task.train)), (recipe.epochs, 1))
    order = rng.permuted(passes, axis=1).reshape(steps, -1)
    for step, rows in enumerate(order):
        optimiser.param_groups[0]["lr"] = recipe.rate_at(step, steps)
        batch = {k: v[torch.as_tensor(task.train[rows])] for k, v in data.items()}
        optimiser.zero_grad()
        loss(net(batch["inputs"]), batch).mean().backward()
        if recipe.clip is not None:
            torch.nn.utils.clip_grad_norm_(net.parameters(), recipe.clip)
        optimiser.step()
    trained = train(make, loss, data, [task], recipe, device=CPU)
    for k, v in net.named_parameters():
        torch.testing.assert_close(trained.parameters[k][0], v.detach(), rtol=0, atol=1e-5)


def test_networks_of_unequal_length_keep_their_places():
    rng = np.random.default_rng(3)
    work = [Task(m, rng.permutation(40)[:size], np.arange(0)) for m, size in enumerate((8, 24, 8, 40))]
    recipe = Recipe(epochs=3, batch=4)
    assert len({recipe.steps(len(t.train)) for t in work}) == 3
    together = train(make, loss, pool(), work, recipe, device=CPU)
    for m, task in enumerate(work):
        alone = train(make, loss, pool(), [task], recipe, device=CPU)
        torch.testing.assert_close(
            together.parameters["core.lift.weight"][m], alone.parameters["core.lift.weight"][0], rtol=0, atol=1e-5
        )


def test_every_network_sees_its_own_tensors():
    """A network trained towards its own constant ends there, whatever its neighbours learn."""

    class Constant(nn.Module):
        def __init__(self):
            super().__init__()
            self.value = nn.Parameter(torch.zeros(16))

        def forward(self, inputs):
            return self.value.expand(len(inputs), 16)

    work = [Task(m, np.arange(5 + m), np.arange(30, 33)) for m in range(3)]
    own = {"goal": [torch.full((len(t.train) + 3, 16), float(m)) for m, t in enumerate(work)]}
    recipe = Recipe(epochs=400, batch=4, rate=0.05, weight_decay=0)
    out = train(
        lambda t: Constant(), lambda u, b: ((u - b["goal"]) ** 2).mean(-1), pool(), work, recipe, own=own, device=CPU
    )
    torch.testing.assert_close(out.parameters["value"], torch.arange(3.0)[:, None].expand(3, 16), atol=1e-2, rtol=0)


def test_the_best_held_out_state_is_kept():
    """With targets of pure noise, later states fit worse out of sample: the kept one is no worse than the last."""
    data = pool()
    data["target"] = torch.randn(40, 16, generator=torch.Generator().manual_seed(9))
    work = tasks(count=2, train=8, held=8)

    def held_out(ensemble, m):
        rows = torch.as_tensor(work[m].validate)
        return loss(ensemble.member(m)(data["inputs"][rows]), {"target": data["target"][rows]}).mean()

    chosen = train(make, loss, data, work, Recipe(epochs=200, batch=4, rate=1e-2), device=CPU)
    without = [Task(t.seed, t.train, t.validate[:0]) for t in work]
    last = train(make, loss, data, without, Recipe(epochs=200, batch=4, rate=1e-2), device=CPU)
    for m in range(2):
        assert held_out(chosen, m) < 0.95 * held_out(last, m)


def test_the_clip_bounds_the_first_step():
    """Adam's first step does not depend on the gradient's size, but a clipped gradient tracks a clipped one."""
    data = pool()
    huge = dict(data, target=data["target"] * 1e6)
    recipe = Recipe(epochs=1, batch=4, clip=1e-3, validation=0)
    one = train(make, lambda u, b: 1e6 * loss(u, b), data, tasks(1, held=0), recipe, device=CPU)
    two = train(make, loss, huge, tasks(1, held=0), recipe, device=CPU)
    assert all(torch.isfinite(v).all() for e in (one, two) for v in e.parameters.values())


class Unstackable(nn.Module):
    """Reads a value out of a tensor, which cannot be batched."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, inputs):
        return inputs[:, 0] * self.scale * (1.0 if inputs.sum().item() > -1e9 else 0.0)


def test_networks_that_cannot_be_stacked_run_one_by_one_and_say_so_once():
    work = tasks(2, held=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = train(lambda t: Unstackable(), loss, pool(), work, Recipe(epochs=2, batch=4), device=CPU)
        alone = train(lambda t: Unstackable(), loss, pool(), work[:1], Recipe(epochs=2, batch=4), device=CPU)
    assert sum("cannot be stacked" in str(w.message) for w in caught) == 2  # once for each of the two runs
    torch.testing.assert_close(out.parameters["scale"][0], alone.parameters["scale"][0])


def test_training_does_not_touch_the_global_generator():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(make, loss, pool(), tasks(1), Recipe(epochs=1), device=CPU)
    torch.testing.assert_close(torch.rand(3), expected)


def test_a_network_that_diverges_is_told_and_leaves_the_others_alone():
    def bad_for_two(fields, batch):
        return loss(fields, batch) * torch.where(batch["broken"] > 0, torch.inf, 1.0)

    work = tasks(3, held=0)
    own = {"broken": [torch.full((len(t.train),), float(m == 1)) for m, t in enumerate(work)]}
    recipe = Recipe(epochs=2, validation=0)
    out = train(make, bad_for_two, pool(), work, recipe, own=own, device=CPU)
    assert out.finite().tolist() == [True, False, True]
    alone = train(make, loss, pool(), work[:1], recipe, device=CPU)
    for k, v in states(out, 0).items():
        torch.testing.assert_close(v, alone.parameters[k][0], rtol=0, atol=1e-5)


def test_a_network_without_any_finite_held_out_loss_does_not_pass_for_trained():
    broken = lambda u, b: loss(u, b) * torch.nan  # noqa: E731
    out = train(make, loss, pool(), tasks(2), Recipe(epochs=2), selection=broken, device=CPU)
    assert not out.finite().any()


def test_shrinkage_is_the_gradient_of_the_squared_norm_and_counts_in_the_selection():
    """In the loss it does to an unclipped Adam what coupled weight decay of twice its size does."""
    work = tasks(2, held=0)
    recipe = Recipe(epochs=4, batch=4, clip=None, validation=0, weight_decay=0)
    shrunk = train(make, loss, pool(), work, recipe, shrinkage=0.05, device=CPU)
    decayed = train(make, loss, pool(), work, replace(recipe, weight_decay=0.1), device=CPU)
    for k, v in shrunk.parameters.items():
        torch.testing.assert_close(v, decayed.parameters[k], rtol=0, atol=1e-5)
    # selected by the norm alone, the smallest state wins: with a huge constant loss nothing else differs
    flat = lambda u, b: 0 * u.sum(-1)  # noqa: E731
    chosen = train(make, flat, pool(), tasks(1), replace(recipe, epochs=6), shrinkage=1.0, device=CPU)
    last = train(make, flat, pool(), tasks(1, held=0), replace(recipe, epochs=6), shrinkage=1.0, device=CPU)
    norm = lambda e: sum(v.square().sum() for v in e.parameters.values())  # noqa: E731
    assert norm(chosen) <= norm(last) * (1 + 1e-6)


def test_every_network_is_asked_at_its_own_rows():
    out = train(make, loss, pool(), tasks(3), Recipe(epochs=1), device=CPU)
    inputs = pool()["inputs"].numpy()
    rows = [np.array([3, 1]), np.array([], dtype=np.int64), np.arange(7)]
    for m, (own, fields) in enumerate(zip(rows, out.predict_each(inputs, rows), strict=True)):
        assert fields.shape == (len(own), 16)
        np.testing.assert_allclose(fields, out.predict(m, inputs[own]), atol=1e-6)


@pytest.mark.parametrize("fields", [1, 2, 5])
def test_fields_do_not_depend_on_the_pieces_that_networks_are_asked_in(fields, monkeypatch):
    out = train(make, loss, pool(), tasks(3), Recipe(epochs=1), device=CPU)
    inputs, rows = pool()["inputs"].numpy(), [np.array([3, 1, 5]), np.array([], dtype=np.int64), np.arange(11)]
    whole = out.predict_each(inputs, rows)
    monkeypatch.setattr(ensemble, "_NODES_AT_ONCE", {"cpu": fields * GRID.size})
    for own, expected in zip(out.predict_each(inputs, rows), whole, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-6)


def test_networks_that_go_in_several_groups_come_out_in_order(monkeypatch):
    whole = train(make, loss, pool(), tasks(5), RECIPES["recommended"], device=CPU)
    monkeypatch.setattr(trainer, "_MOST_ON_CPU", 2)
    parts = train(make, loss, pool(), tasks(5), RECIPES["recommended"], device=CPU)
    for name, value in whole.parameters.items():
        torch.testing.assert_close(parts.parameters[name], value, rtol=1e-4, atol=1e-5)


def test_transforms_and_coordinates_are_held_once():
    """They belong to the architecture; every network keeps its own scales."""
    out = train(make, loss, pool(), tasks(3), Recipe(epochs=1), device=CPU)
    assert set(out.buffers) == {"in_shift", "in_scale", "in_low", "in_high", "out_shift", "out_scale"}


@pytest.mark.parametrize("name", RECIPES)
def test_a_training_that_was_stopped_goes_on_from_its_checkpoint(name, tmp_path, monkeypatch):
    """Stopped anywhere, it ends in the very parameters of one that was not; what is finished is not done again."""
    monkeypatch.setattr(trainer, "Checkpoint", partial(Checkpoint, every=0.0))
    recipe, work = RECIPES[name], tasks(held=0 if "last" in name else 5)

    def call(progress=no_progress, **changes):
        return train(make, loss, pool(), work, replace(recipe, **changes), device=CPU, progress=progress, **kept)

    kept, seen = {}, []
    whole = call()
    kept = {"checkpoint": tmp_path / "kept"}

    def stop(what, done, total):
        seen.append(done)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call(stop)
    begun = []
    again = call(lambda what, done, total: begun.append(done))
    assert begun[0] in seen[:2]  # not from the beginning
    for k, v in whole.parameters.items():
        torch.testing.assert_close(again.parameters[k], v, rtol=0, atol=0)
    files = set(kept["checkpoint"].iterdir())
    done = []
    call(lambda what, step, total: done.append(step))
    assert len(done) == 2  # the two groups of networks, each at its end at once
    assert set(kept["checkpoint"].iterdir()) == files
    call(rate=1e-3)  # another recipe begins anew, beside it
    assert len(set(kept["checkpoint"].iterdir())) == 2 * len(files)


def test_a_checkpoint_that_is_no_checkpoint_is_told(tmp_path):
    def call():
        return train(make, loss, pool(), tasks(1), Recipe(epochs=1), device=CPU, checkpoint=tmp_path)

    call()
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"half")
    with pytest.raises(DataError, match="delete it to begin anew"):
        call()
    with pytest.raises(DataError, match="checkpoints cannot be written"):
        train(make, loss, pool(), tasks(1), Recipe(epochs=1), device=CPU, checkpoint=file)


# ---- the recipe -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("steps", [10, 137, 500])
def test_the_one_cycle_is_torch_s(steps):
    recipe = Recipe(rate=2e-3)
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=2e-3, total_steps=steps)
    for step in range(steps):
        assert recipe.rate_at(step, steps) == pytest.approx(schedule.get_last_lr()[0], rel=1e-9, abs=1e-15)
        optimiser.step()
        if step < steps - 1:
            schedule.step()


def test_cost_is_bounded_by_epochs_at_small_n_and_by_steps_at_large_n():
    recipe = Recipe()
    assert recipe.steps(41) == 100 * 6
    assert recipe.steps(10**6) == recipe.max_steps


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch": 2.5},
        {"rate": 0.0},
        {"clip": -1.0},
        {"validation": 1.0},
        {"schedule": "cosine"},
        {"weight_decay": -1.0},
    ],
)
def test_impossible_recipes_are_refused(wrong):
    with pytest.raises(DataError, match="Recipe"):
        Recipe(**wrong)
