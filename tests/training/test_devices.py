"""Settings that hold while networks train on a CPU, and only then."""

import pytest
import torch

from dope.training import single_threaded
from dope.training.devices import _exact_in_onednn, _products

CPU = torch.device("cpu")


def test_settings_are_given_back():
    torch.set_num_threads(2)
    before = getattr(_products(), "fp32_precision", None)

    def interrupted():
        with single_threaded(CPU), single_threaded(CPU):
            assert torch.get_num_threads() == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert torch.get_num_threads() == 2
    assert getattr(_products(), "fp32_precision", None) == before
    torch.set_num_threads(1)


@pytest.mark.parametrize(("rows", "inner", "columns"), [(1024, 32, 32), (24, 128, 256), (32, 1024, 32), (16, 32, 64)])
def test_products_keep_single_precision_while_networks_train(rows, inner, columns):
    torch.manual_seed(0)
    a, b = torch.rand(3, rows, inner), torch.rand(3, inner, columns)
    exact = a.double() @ b.double()
    with single_threaded(CPU):
        product = a @ b
    # a sum of at most 1024 positive terms in single precision; factors of 16 bits would leave 1e-3
    assert ((product - exact) / exact).abs().max() < 1e-5


def test_a_library_that_rounds_its_factors_is_not_used(monkeypatch):
    class Rounding:
        fp32_precision = "none"

    settings = Rounding()
    plain = torch.Tensor.__matmul__

    def product(a, b):
        if settings.fp32_precision == "bf16" and a.dtype == torch.float32:
            a, b = a.bfloat16().float(), b.bfloat16().float()
        return plain(a, b)

    monkeypatch.setattr("dope.training.devices._products", lambda: settings)
    monkeypatch.setattr(torch.Tensor, "__matmul__", product)
    assert not _exact_in_onednn.__wrapped__()
    assert settings.fp32_precision == "none"
