"""The text of the programs that move and combine arrays between processes: one collective each, in
StableHLO; and their memory.

They are written out, not traced: no line of JAX's own runs for them, and what they do can be read
here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .._src.facts.kinds import Function


#: Bytes to multiples of which XLA's memory on the CPU is aligned; it makes copies of what lies
#: elsewhere.
ALIGNED = 64

#: NumPy's names of dtypes -> StableHLO's; those that XLA's collectives on the CPU combine.
ELEMENTS = {
    "float32": "f32", "float64": "f64", "int8": "i8", "int16": "i16", "int32": "i32",
    "int64": "i64", "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
}  # fmt: skip
#: Bits XLA's collectives on the CPU cannot combine.
COMBINED = {"sum": "add", "product": "multiply", "min": "minimum", "max": "maximum"}


def aligned(shape: tuple[int, ...], dtype: np.dtype, made: Function = np.zeros) -> np.ndarray:
    """Zeros (with ``np.empty``: anything) in memory that XLA takes as it is."""
    size = math.prod(shape) * dtype.itemsize
    memory = made(size + ALIGNED, np.uint8)
    first = -memory.ctypes.data % ALIGNED
    return memory[first : first + size].view(dtype).reshape(shape)


def _module(processes: int, taken: str, given: str, body: str) -> str:
    return f"""module @collective attributes {{mhlo.num_replicas = {processes} : i32, \
mhlo.num_partitions = 1 : i32}} {{
  func.func public @main(%a: {taken}) -> {given} {{
    {body}
    return %b : {given}
  }}
}}"""


def _everyone(processes: int) -> str:
    return f"dense<[[{', '.join(map(str, range(processes)))}]]> : tensor<1x{processes}xi64>"


def gather(processes: int, size: int) -> str:
    """Each process's ``size`` bytes, in a row each."""
    taken, given = f"tensor<1x{size}xui8>", f"tensor<{processes}x{size}xui8>"
    facts = f"all_gather_dim = 0 : i64, replica_groups = {_everyone(processes)}"
    return _module(
        processes,
        taken,
        given,
        f'%b = "stablehlo.all_gather"(%a) <{{{facts}}}> : ({taken}) -> {given}',
    )


def exchange(processes: int, size: int) -> str:
    """Row ``i`` of each process's rows of ``size`` bytes goes to process ``i``, which has those it
    gets in rows."""
    kind = f"tensor<{processes}x{size}xui8>"
    facts = (
        f"split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = {processes} : i64"
    )
    body = (
        f'%b = "stablehlo.all_to_all"(%a) <{{{facts}, replica_groups = {_everyone(processes)}}}> : '
        f"({kind}) -> {kind}"
    )
    return _module(processes, kind, kind, body)


def swap(processes: int, size: int) -> str:
    """The ``size`` bytes of the other one of two processes."""
    kind = f"tensor<{size}xui8>"
    facts = "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>"
    return _module(
        processes,
        kind,
        kind,
        f'%b = "stablehlo.collective_permute"(%a) <{{{facts}}}> : ({kind}) -> {kind}',
    )


def combine(processes: int, size: int, dtype: str, operation: str) -> str:
    """The processes' vectors of ``size`` elements, combined."""
    element = ELEMENTS[dtype]
    kind, one = f"tensor<{size}x{element}>", f"tensor<{element}>"
    body = f"""%b = "stablehlo.all_reduce"(%a) <{{replica_groups = {_everyone(processes)}}}> ({{
    ^bb0(%x: {one}, %y: {one}):
      %z = stablehlo.{COMBINED[operation]} %x, %y : {one}
      stablehlo.return %z : {one}
    }}) : ({kind}) -> {kind}"""
    return _module(processes, kind, kind, body)
