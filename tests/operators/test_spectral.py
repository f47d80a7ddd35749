"""The truncated transform by matrices is the FFT's, keeps what it is asked to keep, and can be transformed."""

import numpy as np
import pytest
import torch

from dope.data import Grid
from dope.operators.spectral import SpectralConv, frequencies

SHAPES = [((128,), (12,)), ((11,), (6,)), ((10,), (6,)), ((17, 17), (8, 8)), ((6, 8), (6, 5)), ((6, 5, 8), (3, 4, 2))]


def grid_of(shape):
    return Grid.product(*(Grid.uniform(0, 1, n) for n in shape))


@pytest.fixture(autouse=True)
def _double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def through_fft(u, weight, modes, signed):
    """The textbook form: transform, keep a block of modes, mix channels there, transform back."""
    d = u.dim() - 2
    dims = tuple(range(1, d + 1))
    kept = [frequencies(m, signed=signed and axis < d - 1) for axis, m in enumerate(modes)]
    at = (slice(None), *np.ix_(*kept))
    spectrum = torch.fft.rfftn(u, dim=dims)
    out = torch.zeros_like(spectrum)
    out[at] = torch.einsum("b...i,...io->b...o", spectrum[at], torch.view_as_complex(weight.detach().contiguous()))
    return torch.fft.irfftn(out, s=u.shape[1:-1], dim=dims)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("shape", "modes"), SHAPES)
def test_equals_the_fft(shape, modes, signed):
    conv = SpectralConv(grid_of(shape), 5, modes, signed=signed)
    u = torch.randn(3, *shape, 5)
    torch.testing.assert_close(conv(u).detach(), through_fft(u, conv.weight, modes, signed), rtol=0, atol=1e-13)


@pytest.mark.parametrize("modes", [1, 5, 12])
def test_keeps_exactly_the_modes_asked_for(modes):
    size = 64
    conv = SpectralConv(grid_of((size,)), 1, (modes,), signed=False)
    place = torch.arange(size) / size
    for k in range(size // 2):
        answer = conv(torch.cos(2 * torch.pi * k * place)[None, :, None]).abs().max()
        assert (answer > 1e-8) == (k < modes), k


def test_a_longer_period_keeps_the_ends_apart():
    """One and a half turns of the domain are whole turns of a period of two, and none of a period of one."""
    x = torch.arange(64) / 64
    wave = torch.cos(3 * torch.pi * x)[None, :, None]

    def rest(period):
        grid = grid_of((64,))
        conv = SpectralConv(grid, 1, (6,), signed=False, period=period)
        reached = conv.back0 @ torch.linalg.lstsq(conv.back0, wave[0], driver="gelsd").solution  # one column is zero
        return (reached - wave[0]).abs().max()

    assert rest(2.0) < 1e-10
    assert rest(1.0) > 0.1


def test_uneven_nodes_read_the_same_waves():
    # quadrature on uneven nodes is second order: 400 nodes leave an error of order (5/400)^2 for frequency 2
    rng = np.random.default_rng(0)
    nodes = np.sort(np.concatenate([[0.0, 1.0], rng.uniform(0, 1, 398)]))
    even, uneven = Grid.periodic(0, 1, 400), Grid.nodes(nodes)
    a, b = SpectralConv(even, 1, (4,), signed=False), SpectralConv(uneven, 1, (4,), signed=False)
    b.load_state_dict(a.state_dict())
    wave = lambda x: torch.as_tensor(np.sin(4 * np.pi * x) + 0.5)[None, :, None]  # noqa: E731
    at_even, at_uneven = a(wave(even.axes[0].nodes)), b(wave(nodes))
    shared = np.interp(nodes, even.axes[0].nodes, at_even.detach().numpy()[0, :, 0], period=1)
    scale = at_even.abs().max().item()
    assert np.abs(at_uneven.detach().numpy()[0, :, 0] - shared).max() < 0.1 * scale


@pytest.mark.parametrize(("shape", "modes"), SHAPES[::3])
def test_can_be_vectorised_and_differentiated_both_ways(shape, modes):
    conv = SpectralConv(grid_of(shape), 2, modes, signed=True)
    u, v = torch.randn(3, 4, *shape, 2), torch.randn(3, 4, *shape, 2)
    torch.testing.assert_close(torch.vmap(conv)(u)[1], conv(u[1]))
    _, forward = torch.func.jvp(conv, (u[0],), (v[0],))
    torch.testing.assert_close(forward, conv(v[0]))  # linear
    weight = torch.randn_like(u[0])
    place = u[0].clone().requires_grad_()
    (reverse,) = torch.autograd.grad((conv(place) * weight).sum(), place)
    torch.testing.assert_close((reverse * v[0]).sum(), (forward * weight).sum())
