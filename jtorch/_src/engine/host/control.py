"""Branches, loops and scans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .direct import where
from .recipes import for_cpu
from .rules import CALL, Compute, Equation, by_bytes, rule

if TYPE_CHECKING:
    from ...facts.kinds import Operand
    from .staging import Program


#: Rounds that a loop is taken to have when its condition decides; counted loops whose bounds are
#: known are scans.
ROUNDS = 32
#: Seconds that a round costs beside its steps, and each array that it takes a slice of or writes
#: one into.
ROUND, SLICE = 0.5e-6, 0.15e-6


@rule("platform_index")
def _platform_index(e: Equation) -> Compute | None:
    index = for_cpu(e.params["platforms"])
    return None if index is None else lambda: np.int32(index)


def _branches(e: Equation) -> Sequence[object]:
    """The branches that may be taken on the CPU."""
    platforms = e.params.get("branches_platforms")
    index = None if platforms is None else for_cpu(platforms)
    return e.params["branches"] if index is None else e.params["branches"][index : index + 1]


def _likely(e: Equation) -> Program:
    """The branch that takes least: the dear ones of kernels are for numbers that are rare, such as
    those of matrices that have no factors."""
    return min([e.stage(branch) for branch in _branches(e)], key=lambda program: program.cost)


def _even(program: Program) -> float:
    """The seconds of an inner program that compiling does not save."""
    return program.kept + program.even + program.near


@rule("cond", cost=lambda e: CALL + _likely(e).cost, even=lambda e: _even(_likely(e)))
def _cond(e: Equation) -> Compute | None:
    programs = [e.stage(branch) for branch in _branches(e)]
    if None in programs:
        return None
    if len(programs) == 1:
        only = programs[0]
        return lambda _, *operands: only(*operands)
    last = len(programs) - 1

    def choose(index: np.generic | np.ndarray, *operands: np.ndarray) -> list[Operand]:
        return programs[min(max(int(index), 0), last)](*operands)

    return choose


def _cost_of_while(e: Equation) -> float:
    return CALL + ROUNDS * (
        ROUND + e.stage(e.params["cond_jaxpr"]).cost + e.stage(e.params["body_jaxpr"]).cost
    )


@rule("while", cost=_cost_of_while)
def _while(e: Equation) -> Compute | None:
    condition, body = e.stage(e.params["cond_jaxpr"]), e.stage(e.params["body_jaxpr"])
    if condition is None or body is None:
        return None
    first = e.params["cond_nconsts"]
    start = first + e.params["body_nconsts"]
    shape = e.params["cond_jaxpr"].specs()[e.params["cond_jaxpr"].outs[0]].shape
    if shape:
        return _loops_of_a_batch(condition, body, first, start, len(shape))

    def loop(*operands: np.ndarray) -> list[np.ndarray]:
        known, needed, carry = operands[:first], operands[first:start], operands[start:]
        while condition(*known, *carry)[0]:
            carry = body(*needed, *carry)
        return list(carry)

    return loop


def _loops_of_a_batch(
    condition: Program, body: Program, first: int, start: int, ndim: int
) -> Compute:
    """A loop that was batched: those items go on whose condition holds."""

    def loop(*operands: np.ndarray) -> list[np.ndarray]:
        known, needed, carry = operands[:first], operands[first:start], operands[start:]
        while True:
            on = np.asarray(condition(*known, *carry)[0])
            if not on.any():
                return list(carry)
            carry = [
                where(on.reshape(on.shape + (1,) * (np.ndim(old) - ndim)), new, old)
                for new, old in zip(body(*needed, *carry), carry, strict=True)
            ]

    return loop


def _groups_of_scan(e: Equation) -> tuple[int, int]:
    """How many operands are the same in each round, and how many are carried: numbers by
    themselves, or the first two of three."""
    if "num_consts" in e.params:
        return e.params["num_consts"], e.params["num_carry"]
    given, carried, _ = e.params["ft_in"]
    return given, carried


def _cost_of_scan(e: Equation) -> float:
    given, carried = _groups_of_scan(e)
    sliced = len(e.ins) + len(e.outs) - given - 2 * carried
    return by_bytes()(e) + e.params["length"] * (
        ROUND + sliced * SLICE + e.stage(e.params["jaxpr"]).cost
    )


@rule("scan", cost=_cost_of_scan)
def _scan(e: Equation) -> Compute | None:
    length, (given, carried) = e.params["length"], _groups_of_scan(e)
    step = e.stage(e.params["jaxpr"])
    if step is None:
        return None
    rounds = range(length - 1, -1, -1) if e.params["reverse"] else range(length)
    start = given + carried
    stacks = [(a.shape, a.dtype) for a in e.outs[carried:]]

    def scan(*operands: np.ndarray) -> list[Operand]:
        known, carry, rows = operands[:given], operands[given:start], operands[start:]
        found = [np.empty(shape, dtype) for shape, dtype in stacks]
        for i in rounds:
            made = step(*known, *carry, *[x[i] for x in rows])
            carry = made[:carried]
            for stack, x in zip(found, made[carried:], strict=True):
                stack[i] = x
        return [*carry, *found]

    return scan


def _cost_of_solve(e: Equation) -> float:
    return CALL + e.stage(e.params["jaxprs"].solve).cost


@rule(
    "custom_linear_solve",
    cost=_cost_of_solve,
    even=lambda e: _even(e.stage(e.params["jaxprs"].solve)),
)
def _custom_linear_solve(e: Equation) -> Compute | None:
    solve = e.stage(e.params["jaxprs"].solve)
    if solve is None:
        return None
    lengths = e.params["const_lengths"]
    start = lengths.matvec + lengths.vecmat
    end = start + lengths.solve
    right = end + lengths.transpose_solve
    return lambda *operands: solve(*operands[start:end], *operands[right:])
