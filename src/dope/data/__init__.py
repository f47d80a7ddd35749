"""What was observed.

In: arrays, frames and files of a user. Out: a `Grid` (where fields live and how they are integrated), an
`OperatorData` (input functions with sparse noisy point values) and, where it is known, a `Design`.
Must hold: everything is validated at construction, so no later room meets a NaN, a wrong shape or a point
outside the domain; errors name the unit and what to do.
"""

from dope.data.design import Design, inclusion_probabilities
from dope.data.errors import DataError
from dope.data.grid import Grid
from dope.data.inputs_file import Blocks
from dope.data.operator_data import OperatorData
from dope.data.stencil import Stencil, interpolate
from dope.data.tables import Reading, read_table
from dope.data.xarray_io import read_xarray

__all__ = [
    "Blocks",
    "DataError",
    "Design",
    "Grid",
    "OperatorData",
    "Reading",
    "Stencil",
    "inclusion_probabilities",
    "interpolate",
    "read_table",
    "read_xarray",
]
