"""The layer of stacked networks against automatic differentiation through its plain parts."""

import pytest
import torch
import torch.nn.functional as F

from dope import Grid
from dope.operators.fourier_layer import fourier_layer
from dope.operators.spectral import SpectralConv

GRIDS = {
    "line": (Grid.uniform(0, 24, 16), (5,)),
    "square": (Grid.product(Grid.uniform(0, 1, 9), Grid.periodic(0, 1, 8)), (3, 4)),
    "cube": (Grid.product(Grid.uniform(0, 1, 5), Grid.cells(0, 1, 6), Grid.uniform(0, 1, 7)), (2, 3, 3)),
}
NETWORKS, BATCH, WIDTH = 3, 2, 4


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("name", GRIDS)
def test_values_and_gradients_are_those_of_the_plain_parts(name, signed):
    grid, modes = GRIDS[name]
    torch.manual_seed(0)
    conv = SpectralConv(grid, WIDTH, modes, signed=signed, period=1.1).double()
    u = torch.randn(NETWORKS, *grid.shape, BATCH, WIDTH, dtype=torch.float64, requires_grad=True)
    bank = torch.randn(NETWORKS, *modes, WIDTH, WIDTH, 2, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(NETWORKS, WIDTH, WIDTH, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(NETWORKS, WIDTH, dtype=torch.float64, requires_grad=True)

    def alone(m: int) -> torch.Tensor:
        spectral = torch.func.functional_call(conv, {"weight": bank[m]}, (u[m].movedim(-2, 0),))
        pointwise = F.linear(u[m], weight[m], bias[m])
        return F.gelu(spectral.movedim(0, -2) + pointwise)

    plain = torch.stack([alone(m) for m in range(NETWORKS)])
    fused = fourier_layer(u, bank, weight, bias, conv.transforms)
    torch.testing.assert_close(fused, plain)
    towards = torch.randn_like(plain)
    parts = u, bank, weight, bias
    for ours, reference in zip(
        torch.autograd.grad((fused * towards).sum(), parts),
        torch.autograd.grad((plain * towards).sum(), parts),
        strict=True,
    ):
        torch.testing.assert_close(ours, reference)


def test_it_leaves_what_it_was_given():
    grid, modes = GRIDS["line"]
    conv = SpectralConv(grid, WIDTH, modes, signed=False)
    u, weight = torch.randn(NETWORKS, *grid.shape, BATCH, WIDTH), torch.randn(NETWORKS, WIDTH, WIDTH)
    bank, bias = torch.randn(NETWORKS, *modes, WIDTH, WIDTH, 2), torch.randn(NETWORKS, WIDTH)
    given = [v.clone() for v in (u, bank, weight, bias)]
    fourier_layer(u, bank, weight, bias, conv.transforms)
    for before, after in zip(given, (u, bank, weight, bias), strict=True):
        assert torch.equal(before, after)
