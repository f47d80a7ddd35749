"""Which correction to use, and why."""

from __future__ import annotations

import numpy as np
import torch

from dope.data import DataError
from dope.functionals import Functional, Integral
from dope.functionals.integral import coordinates
from dope.scores.correction import Correction, Prediction
from dope.scores.exact import Exact
from dope.scores.one_step import OneStep
from dope.scores.plug_in import PlugIn
from dope.scores.targeted import Targeted

CORRECTIONS = ("auto", "one-step", "exact", "targeted", "none")

# Noise bias that may be left by the exact correction, as a share of the standard error: adding a tenth of a
# standard error of bias costs a 95 % interval a tenth of a percentage point of coverage.
_NEGLIGIBLE = 0.1
# Units whose predicted fields tell a linear integrand from a curved one.
_PROBED = 4


def choose(
    correction: str, g: Functional, prediction: Prediction, plugin: np.ndarray, sigma2: float | None
) -> tuple[Correction, str]:
    """The correction asked for, or for "auto" the one that suits, with the reason in words."""
    if correction not in CORRECTIONS:
        raise DataError(f"correction must be one of {', '.join(CORRECTIONS)}, got {correction!r}.")
    if correction == "none":
        return PlugIn(), "asked for"
    if correction == "one-step":
        return OneStep(), "asked for"
    if correction == "targeted":
        return Targeted(), "asked for"
    integral = isinstance(g, Integral)
    if correction == "exact":
        if not integral:
            raise DataError(
                f"the exact correction needs an integral functional, {g.name!r} is not one: use correction='one-step', "
                "or write g as dope.Integral(phi)."
            )
        if prediction.xi is None:
            raise DataError("the exact correction needs the design factor xi, which weights='direct' does not learn.")
        return Exact(_noise(prediction, sigma2)), "asked for" + (
            "; noise that single points cannot show is left in" if _noise_is_unknown(prediction, sigma2) else ""
        )
    if not integral:
        return OneStep(), f"{g.name} is not an integral functional"
    if prediction.xi is None:
        return OneStep(), "directly learned weights have no design factor, which the exact correction needs"
    if _noise_is_unknown(prediction, sigma2) and _curved(g, prediction):
        return OneStep(), (
            f"{g.name} is curved, and units with one point each do not show the noise that the exact correction must "
            "take off: give sigma2= if it is known"
        )
    exact = Exact(_noise(prediction, sigma2))
    corrections, _ = exact(g, prediction, plugin)
    if not np.isfinite(corrections).all():
        return OneStep(), f"{g.name} is not defined at all values that the noise reaches"
    se = np.std(plugin + corrections, ddof=1) / np.sqrt(len(plugin))
    left = exact.noise_left(g, prediction)
    if left > _NEGLIGIBLE * se and not _one_step_is_worse(g, prediction, plugin, corrections, left):
        return OneStep(), (
            f"{g.name} is too steep for the noise (sd {np.sqrt(exact.sigma2):.3g}): the exact correction would keep a "
            f"noise bias of {left / se:.2g} standard errors"
        )
    if not _curved(g, prediction):
        return exact, f"{g.name} is an integral functional, and linear: noise does not shift it"
    return exact, f"{g.name} is an integral functional; noise sd {np.sqrt(exact.sigma2):.3g} removed"


def _one_step_is_worse(g: Integral, prediction: Prediction, plugin: np.ndarray, exact: np.ndarray, left: float) -> bool:
    """Whether the two corrections lie further apart than the exact one's noise bias and chance allow for.

    They share all but the one-step's second-order remainder and the noise bias: what is more than the second is the
    first.
    """
    gap = OneStep()(g, prediction, plugin)[0] - exact
    return abs(gap.mean()) - 2 * gap.std(ddof=1) / np.sqrt(len(gap)) > left


def _noise_is_unknown(prediction: Prediction, sigma2: float | None) -> bool:
    return sigma2 is None and not (prediction.data.counts > 1).any()


def _curved(g: Integral, prediction: Prediction) -> bool:
    """Whether noise shifts the mean of the integrand at all."""
    some = torch.as_tensor(prediction.field[:_PROBED])
    grid = prediction.data.grid
    return bool(g.curvature(some, coordinates(grid, some), grid).any())


def _noise(prediction: Prediction, sigma2: float | None) -> float:
    if sigma2 is None:
        return prediction.sigma2
    if not (np.isfinite(sigma2) and sigma2 >= 0):
        raise DataError(f"sigma2 must be a variance, got {sigma2}.")
    return float(sigma2)
