"""A day of blood glucose with meals and insulin, measured more often while it is high."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import expit, ndtr

from dope.benchmarks.focused import Focused
from dope.data import Grid
from dope.functionals import Functional, Mean, TimeInRange

_HORIZON = 24.0
# Breakfast, lunch, dinner and a snack that half of the units take: median hour and carbohydrate in g.
_HOURS, _GRAMS = np.array([7.5, 12.5, 19.0, 16.0]), np.array([50.0, 65.0, 75.0, 25.0])
_SD_HOUR, _SD_LOG_GRAMS = 0.75, 0.3
_SITTING = 0.5  # hours that a meal and the bolus for it take
# One unit of insulin for so many grams, short of the need by so much on average; the snack gets none.
_GRAMS_A_UNIT, _LOG_SHORT, _SD_LOG_BOLUS = 10.0, 0.2, 0.35
_BASAL_RATE, _SD_LOG_BASAL_RATE = 1.0, 0.1  # U/h
_SENSITIVITY, _SD_LOG_SENSITIVITY = 0.03, 0.25  # 1/h of glucose disposal for each mU/L of insulin
_BASAL_GLUCOSE, _SD_BASAL_GLUCOSE = 120.0, 12.0  # mg/dL
# Rates in 1/h: of glucose returning to its basal value by itself, of insulin's action, of its passage under the
# skin (slower than its clearance from plasma, so that it alone shapes the curve), and of the gut.
_EFFECTIVENESS, _ACTION, _PASSAGE, _GUT = 0.6, 1.5, 1.1, 1.5
_INSULIN_LEVEL = 13.2  # mU/L in plasma for each U/h
_GLUCOSE_LEVEL = 0.8 * 1000 / 120  # mg/dL for each g: 80 % is absorbed, into 120 dL
_LONGEST_STEP = 1 / 12  # hours: truncation is then a few thousandths of a mg/dL, and below a fiftieth


@dataclass(frozen=True)
class Glucose(Focused):
    """Bergman's minimal model with meals on [0, 24] hours: solution the blood glucose in mg/dL.

    Input channels: carbohydrate eaten in g/h, insulin given in U/h, log of the insulin sensitivity, and the basal
    glucose in mg/dL; the first two are held over each step of the grid. With gut contents D1 and D2, insulin I,
    its action X and glucose G,

        D1' = carbs - k D1,   D2' = k (D1 - D2),   I' = p (c insulin - I),   X' = a (s (I - I_b) - X),
        G' = e (G_b - G) - X G + v k D2,

    from the fasting steady state of the first insulin rate. Of interest is high glucose, by a logistic of
    (G - 180) / 20. The default grid has a node every ten minutes.
    """

    _: KW_ONLY
    size: int = 145
    noise: float = 5.0

    name: ClassVar[str] = "glucose"

    @cached_property
    def grid(self) -> Grid:
        return Grid.uniform(0, _HORIZON, self.size)

    @property
    def functionals(self) -> dict[str, Functional]:
        # an edge of the range takes 5.9 / 0.2 = 30 mg/dL, several times the noise of a fingerstick
        return {"time_in_range": TimeInRange(70, 180, 0.2, name="time_in_range"), "mean": Mean()}

    def simulate(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        # One row of fifteen normals a unit, whatever it uses of them: units keep their place in the stream.
        z = rng.standard_normal((n, 15))
        grams = _GRAMS * np.exp(_SD_LOG_GRAMS * z[:, 4:8])
        grams[:, 3] *= ndtr(z[:, 8]) < 0.5
        boluses = grams[:, :3] / _GRAMS_A_UNIT * np.exp(-_LOG_SHORT + _SD_LOG_BOLUS * z[:, 9:12])
        sittings = sitting(_HOURS + _SD_HOUR * z[:, :4], self.grid.axes[0].nodes)
        inputs = np.empty((n, 4, self.size), dtype=np.float32)
        inputs[:, 0] = np.einsum("nm,nmt->nt", grams, sittings)
        inputs[:, 1] = np.einsum("nm,nmt->nt", boluses, sittings[:, :3])
        inputs[:, 1] += (_BASAL_RATE * np.exp(_SD_LOG_BASAL_RATE * z[:, 12]))[:, None]
        inputs[:, 2] = (np.log(_SENSITIVITY) + _SD_LOG_SENSITIVITY * z[:, 13])[:, None]
        inputs[:, 3] = (_BASAL_GLUCOSE + _SD_BASAL_GLUCOSE * z[:, 14])[:, None]
        # The solution belongs to the inputs as they are shown, after their rounding to single precision.
        shown = inputs.astype(np.float64)
        sensitivity, basal = np.exp(shown[:, 2, 0]), shown[:, 3, 0]
        return inputs, blood_glucose(shown[:, 0], shown[:, 1], sensitivity, basal, _HORIZON / (self.size - 1))

    def interest(self, solutions: np.ndarray) -> np.ndarray:
        return expit((solutions - 180) / 20)


def sitting(start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Rates `(..., len(times))`, held over each step, that deliver one in total from `start` for `_SITTING` hours.

    A step gets its own part of the time, so that no gram is lost to the grid; the last node begins no step.
    """
    begin, end = start[..., None], start[..., None] + _SITTING
    out = np.zeros((*start.shape, len(times)))
    out[..., :-1] = np.maximum(np.minimum(end, times[1:]) - np.maximum(begin, times[:-1]), 0)
    return out / (_SITTING * np.append(np.diff(times), 1.0))


def blood_glucose(
    carbs: np.ndarray,
    insulin: np.ndarray,
    sensitivity: np.ndarray,
    basal: np.ndarray,
    step: float,
    longest: float = _LONGEST_STEP,
) -> np.ndarray:
    """Solutions `(n, nodes)` of the model for rates `(n, nodes)` held over each step, by Runge and Kutta.

    Steps of the grid longer than `longest` are split.
    """
    parts = int(np.ceil(step / longest - 1e-9))
    h = step / parts
    eaten = np.ascontiguousarray(carbs.T)  # time first: each step then works on contiguous memory
    level = _INSULIN_LEVEL * np.ascontiguousarray(insulin.T)
    state = np.zeros((5, len(carbs)))
    state[2] = level[0]
    state[3] = sensitivity * (level[0] - _INSULIN_LEVEL * _BASAL_RATE)
    state[4] = _EFFECTIVENESS * basal / (_EFFECTIVENESS + state[3])

    def slope(y: np.ndarray, k: int) -> np.ndarray:
        first, second, plasma, action, glucose = y
        out = np.empty_like(y)
        out[0] = eaten[k] - _GUT * first
        out[1] = _GUT * (first - second)
        out[2] = _PASSAGE * (level[k] - plasma)
        out[3] = _ACTION * (sensitivity * (plasma - _INSULIN_LEVEL * _BASAL_RATE) - action)
        out[4] = _EFFECTIVENESS * (basal - glucose) - action * glucose + _GLUCOSE_LEVEL * _GUT * second
        return out

    u = np.empty(carbs.shape[::-1])
    u[0] = state[4]
    for k in range(len(u) - 1):
        for _ in range(parts):
            a = slope(state, k)
            b = slope(state + h / 2 * a, k)
            c = slope(state + h / 2 * b, k)
            d = slope(state + h * c, k)
            state = state + h / 6 * (a + 2 * (b + c) + d)
        u[k + 1] = state[4]
    return u.T


glucose = Glucose
