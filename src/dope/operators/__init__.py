"""Input function -> field.

In: a grid and a number of input channels. Out: a torch module that maps inputs in physical units to fields in
physical units, `(batch, C, *grid) -> (batch, *grid)`.
Must hold: modules are pure (no in-place writes, no hidden state), so they can be stacked under `vmap`,
differentiated in both modes and trained in float32 or float64; spectral weights are real `(..., 2)`.
"""

from dope.operators.base import FieldNet, Operator
from dope.operators.deeponet import DeepONet
from dope.operators.fno import FNO
from dope.operators.pretrained import Asked, Precomputed, Pretrained, pretrained

__all__ = ["FNO", "Asked", "DeepONet", "FieldNet", "Operator", "Precomputed", "Pretrained", "pretrained"]
