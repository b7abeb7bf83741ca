"""``functorch.compile``: PyTorch's compiler of functions with their derivatives, whose place XLA takes."""

from __future__ import annotations

from jtorch._refusals import make as _make

_WHY = "it is a part of PyTorch's compiler, whose place XLA takes; use torch.compile"

aot_function = _make("functorch.compile.aot_function", _WHY)
aot_module = _make("functorch.compile.aot_module", _WHY)
compiled_function = _make("functorch.compile.compiled_function", _WHY)
compiled_module = _make("functorch.compile.compiled_module", _WHY)
memory_efficient_fusion = _make("functorch.compile.memory_efficient_fusion", _WHY)
make_boxed_func = _make("functorch.compile.make_boxed_func", _WHY)
make_boxed_compiler = _make("functorch.compile.make_boxed_compiler", _WHY)
aot_module_simplified = _make("functorch.compile.aot_module_simplified", _WHY)
min_cut_rematerialization_partition = _make("functorch.compile.min_cut_rematerialization_partition", _WHY)
default_partition = _make("functorch.compile.default_partition", _WHY)
nop = _make("functorch.compile.nop", _WHY)
ts_compile = _make("functorch.compile.ts_compile", _WHY)
