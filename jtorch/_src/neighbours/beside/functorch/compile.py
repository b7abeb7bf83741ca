"""``functorch.compile``: functions as graphs of operators ahead of time, with their derivatives."""

from __future__ import annotations

from jtorch._functorch import config as config
from jtorch._functorch.aot_autograd import aot_function as aot_function
from jtorch._functorch.aot_autograd import aot_module as aot_module
from jtorch._functorch.aot_autograd import aot_module_simplified as aot_module_simplified
from jtorch._functorch.aot_autograd import make_boxed_compiler as make_boxed_compiler
from jtorch._functorch.aot_autograd import make_boxed_func as make_boxed_func
from jtorch._functorch.aot_autograd import nop as nop
from jtorch._src.refusals.stand_ins import make as _make

_WHY = "it is a part of PyTorch's compiler, whose place XLA takes; use torch.compile"

compiled_function = _make("functorch.compile.compiled_function", _WHY)
compiled_module = _make("functorch.compile.compiled_module", _WHY)
memory_efficient_fusion = _make("functorch.compile.memory_efficient_fusion", _WHY)
min_cut_rematerialization_partition = _make(
    "functorch.compile.min_cut_rematerialization_partition", _WHY
)
default_partition = _make("functorch.compile.default_partition", _WHY)
ts_compile = _make("functorch.compile.ts_compile", _WHY)
