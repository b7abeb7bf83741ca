"""Tensors of quantised dtypes, the operators of ``torch.ops.quantized`` and what holds their
weights. Floor 4; loaded when a program makes such a tensor."""

from . import pairs as pairs  # (which enter operators)
from . import recurrent as recurrent
from .making import choose_per_tensor as choose_per_tensor
from .making import empty_affine as empty_affine
from .making import empty_per_channel as empty_per_channel
from .making import make_per_channel as make_per_channel
from .making import make_per_tensor as make_per_tensor
from .making import quantize_per_channel as quantize_per_channel
from .making import quantize_per_tensor as quantize_per_tensor
from .making import quantize_per_tensor_dynamic as quantize_per_tensor_dynamic
from .methods import rebuild as rebuild
from .packed import ScriptObject as ScriptObject
