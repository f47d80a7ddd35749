"""Fitting networks.

In: an architecture's builder, a per-unit loss, tensors and a list of tasks (which units, which seed). Out: an
`Ensemble` of trained networks. One trainer fits many networks at once.
Must hold: a network comes out the same whether it was trained alone or in company; nothing here knows what the
loss means.
"""

from dope.training.devices import resolve_device, single_threaded
from dope.training.ensemble import Ensemble
from dope.training.feed import Task
from dope.training.progress import Progress, no_progress, progress_bar
from dope.training.recipe import Recipe
from dope.training.trainer import train

__all__ = [
    "Ensemble",
    "Progress",
    "Recipe",
    "Task",
    "no_progress",
    "progress_bar",
    "resolve_device",
    "single_threaded",
    "train",
]
