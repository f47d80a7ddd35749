"""What has to be learned: the solution operator S and the weights beta.

In: data, an operator, a recipe and a cross-fitting plan. Out: for every unit, the predicted field and the
weights of networks that never saw that unit.
Must hold: folds and inner validation come from the plan alone; a nuisance never sees a standard error.
"""

from dope.nuisances.observations import observation_tensors
from dope.nuisances.plan import Plan, SideBySide, child_seed
from dope.nuisances.plausible import plausible
from dope.nuisances.riesz import fit_weights, jvp_form, riesz_loss, weight_network
from dope.nuisances.solution import fit_solution, out_of_fold, solution_loss

__all__ = [
    "Plan",
    "SideBySide",
    "child_seed",
    "fit_solution",
    "fit_weights",
    "jvp_form",
    "observation_tensors",
    "out_of_fold",
    "plausible",
    "riesz_loss",
    "solution_loss",
    "weight_network",
]
