"""Networks in physical units: sizes of the published architectures, standardisation, weights that start at one."""

import numpy as np
import pytest
import torch
from torch import nn

from dope import FNO, DataError, DeepONet, Grid, OperatorData, pretrained
from dope.operators import FieldNet
from dope.training import Ensemble

LINE = Grid.uniform(0, 24, 32)
SQUARE = Grid.product(Grid.uniform(0, 1, 9), Grid.cells(0, 2, 8))
CUBE = Grid.product(Grid.uniform(0, 1, 6), Grid.uniform(0, 1, 6), Grid.periodic(0, 1, 6))
ARCHITECTURES = [FNO(width=8, layers=2), FNO(width=6, layers=1, signed=True), DeepONet(), DeepONet(branch="pooled")]


def build(operator, grid, channels=2, seed=0, **kw) -> FieldNet:
    torch.manual_seed(seed)
    return operator.build(grid, channels, **kw)


def count(net) -> int:
    return sum(p.numel() for p in net.parameters())


def test_the_published_sizes():
    # PK: 4 channels (time included), 32 hidden, 3 layers, 12 complex modes; Darcy: 3, 24, 3, 8 x 8
    linear = lambda i, o: i * o + o  # noqa: E731
    pk = linear(4, 32) + 3 * (12 * 32 * 32 * 2 + linear(32, 32)) + linear(32, 32) + linear(32, 1)
    assert count(FNO().build(Grid.uniform(0, 24, 128), 3)) == pk
    darcy = linear(3, 24) + 3 * (64 * 24 * 24 * 2 + linear(24, 24)) + linear(24, 24) + linear(24, 1)
    grid = Grid.product(Grid.uniform(0, 1, 17), Grid.uniform(0, 1, 17))
    assert count(FNO(width=24, modes=8).build(grid, 1)) == darcy
    branch = linear(4, 32) + 2 * linear(32, 32) + linear(32, 32)
    trunk = linear(1, 32) + 2 * linear(32, 32)
    assert count(DeepONet(branch="pooled").build(Grid.uniform(0, 24, 128), 3)) == branch + trunk


@pytest.mark.parametrize("grid", [LINE, SQUARE, CUBE])
@pytest.mark.parametrize("operator", ARCHITECTURES)
def test_maps_inputs_to_fields_in_both_precisions(operator, grid):
    net = build(operator, grid)
    inputs = torch.randn(3, 2, *grid.shape)
    single = net(inputs)
    assert single.shape == (3, *grid.shape)
    double = net.double()(inputs.double())
    torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("operator", ARCHITECTURES)
def test_weight_networks_start_at_one_and_stay_positive(operator):
    net = build(operator, LINE, positive=True)
    inputs = torch.randn(4, 2, 32)
    torch.testing.assert_close(net(inputs), torch.ones(4, 32))
    for p in net.parameters():
        nn.init.normal_(p, std=0.1)
    assert (net(inputs) > 0).all()


@pytest.mark.parametrize("operator", ARCHITECTURES)
def test_standardised_networks_do_not_see_the_units(operator):
    """In other units of input and output, the standardised network is the same function of the physics."""
    inputs, values = torch.randn(20, 2, 32) * torch.tensor([3.0, 0.1])[:, None], torch.randn(50)
    one, other = build(operator, LINE), build(operator, LINE)
    one.standardise(inputs, values)
    other.standardise(1000 * inputs + 7, 0.01 * values - 5)
    # float32: 1000 a + 7 keeps seven digits
    torch.testing.assert_close(0.01 * one(inputs) - 5, other(1000 * inputs + 7), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("operator", ARCHITECTURES)
def test_what_lies_beyond_the_range_seen_in_training_counts_as_its_end(operator):
    net, inputs = build(operator, LINE), torch.randn(20, 2, 32)
    far = inputs[:3].clone()
    far[:, 1] = 1e4
    ends = inputs[:3].clone()
    ends[:, 1] = inputs[:, 1].max()
    assert not torch.allclose(net(far), net(ends))  # a network that was never standardised takes inputs as they are
    net.standardise(inputs, torch.randn(9))
    torch.testing.assert_close(net(far), net(ends))


def test_a_constant_channel_is_no_division_by_zero():
    net = build(FNO(width=8), LINE)
    net.standardise(torch.ones(5, 2, 32), torch.zeros(4))
    assert torch.isfinite(net(torch.ones(5, 2, 32))).all()


@pytest.mark.parametrize("branch", ["sensors", "pooled"])
def test_deeponet_answers_at_any_point(branch):
    net = build(DeepONet(branch=branch), SQUARE)
    inputs = torch.randn(3, 2, *SQUARE.shape)
    net.standardise(inputs, torch.randn(9))
    nodes = torch.as_tensor(SQUARE.points, dtype=torch.float32).reshape(-1, 2)
    torch.testing.assert_close(net.query(inputs, nodes), net(inputs).flatten(1))
    assert net.query(inputs, torch.tensor([[0.123, 1.77]])).shape == (3, 1)


@pytest.mark.parametrize("modes", [0, 18, (3, 3)])
def test_modes_that_cannot_be_kept_are_refused(modes):
    with pytest.raises(DataError, match="modes"):
        FNO(modes=modes).build(LINE, 1)


def test_pretrained_operators_are_asked_in_their_own_layout():
    inputs = np.random.default_rng(0).normal(size=(5, 2, 32)).astype(np.float32)
    expected = inputs[:, 0] - 2 * inputs[:, 1]
    first = pretrained(lambda a: a[:, :1] - 2 * a[:, 1:])
    last = pretrained(lambda a: a[..., :1] - 2 * a[..., 1:], layout="channels-last")
    own = pretrained({"k": 2}.__getitem__, query=lambda f, a: a[:, 0] - f("k") * a[:, 1])
    for operator in (first, last, own):
        np.testing.assert_allclose(operator.predict(inputs, LINE), expected, rtol=1e-6)


def test_a_pretrained_module_keeps_its_precision_and_is_not_trained():
    module = nn.Sequential(nn.Conv1d(2, 1, 1), nn.Dropout(0.9)).double()
    inputs = np.ones((3, 2, 32), dtype=np.float32)
    operator = pretrained(module)
    np.testing.assert_array_equal(operator.predict(inputs, LINE), operator.predict(inputs, LINE))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda a: a, "returned shape"),
        (lambda a: a.numpy(), "returned ndarray"),
        (lambda a: a[:, 0] * torch.nan, "not finite for the unit at position 0"),
    ],
)
def test_a_pretrained_operator_that_misbehaves_is_named(f, message):
    with pytest.raises(DataError, match=message):
        pretrained(f).predict(np.ones((3, 2, 32), dtype=np.float32), LINE)


@pytest.mark.parametrize("layout", ["channels-first", "channels-last"])
def test_a_query_receives_inputs_in_the_layout_asked_for(layout):
    inputs = np.random.default_rng(0).normal(size=(5, 2, *SQUARE.shape)).astype(np.float32)
    seen = []

    def query(module, a):
        seen.append(tuple(a.shape))
        return module(a.movedim(1, -1) if layout == "channels-first" else a)

    module = nn.Linear(2, 1)
    operator = pretrained(module, layout=layout, query=lambda m, a: query(m, a)[..., 0])
    expected = module(torch.as_tensor(inputs).movedim(1, -1))[..., 0].detach().numpy()
    np.testing.assert_allclose(operator.predict(inputs, SQUARE), expected, rtol=1e-6)
    assert seen == [(5, 2, 9, 8) if layout == "channels-first" else (5, 9, 8, 2)]


def test_a_pretrained_operator_that_fails_says_what_it_was_given():
    data = OperatorData(np.ones((3, 2, 32)), [[1.0]] * 3, [[1.0]] * 3, grid=LINE)
    with pytest.raises(DataError, match=r"fails on inputs of shape \(1, 2, 32\).*layout="):
        pretrained(nn.Linear(2, 1)).check(data)
    with pytest.raises(DataError, match=r"fails on inputs of shape \(1, 32, 2\).*query="):
        pretrained(nn.Linear(3, 1), layout="channels-last").check(data)


@pytest.mark.parametrize("make", [lambda: FNO(width=0), lambda: FNO(layers=0), lambda: DeepONet(latent=2.5)])
def test_networks_without_size_are_refused(make):
    with pytest.raises(DataError, match="whole number of at least 1"):
        make()


def test_what_cannot_be_an_operator_is_refused():
    with pytest.raises(DataError, match="a module, a function or an array"):
        pretrained(3)
    with pytest.raises(DataError, match="layout"):
        pretrained(lambda a: a, layout="channels")


@pytest.mark.parametrize("grid", [LINE, SQUARE, CUBE])
@pytest.mark.parametrize("operator", ARCHITECTURES)
@pytest.mark.parametrize("positive", [False, True])
def test_stacked_weights_are_networks_side_by_side(operator, grid, positive):
    """With gradients, and with scales of their own."""
    nets = [build(operator, grid, seed=m, positive=positive) for m in range(3)]
    inputs = torch.randn(3, 4, 2, *grid.shape)
    for m, net in enumerate(nets):
        net.standardise(2 * m + (1 + m) * inputs[m], torch.randn(9) * (1 + m) + m)
        for p in net.parameters():
            nn.init.normal_(p, std=0.1)
    ensemble = Ensemble.of(nets, torch.device("cpu"))
    assert nets[0].stacks
    for v in ensemble.parameters.values():
        v.requires_grad_()
    together, alone = ensemble(inputs), [net(a) for net, a in zip(nets, inputs, strict=True)]
    torch.testing.assert_close(together, torch.stack(alone), rtol=1e-4, atol=1e-5)
    mix = torch.randn_like(together)
    slopes = torch.autograd.grad((mix * together).sum(), list(ensemble.parameters.values()))
    for name, slope in zip(ensemble.parameters, slopes, strict=True):
        for m, net in enumerate(nets):
            (one,) = torch.autograd.grad((mix[m] * alone[m]).sum(), net.get_parameter(name), retain_graph=True)
            torch.testing.assert_close(slope[m], one, rtol=1e-3, atol=1e-4)
