"""Counts which kernels the host tier can run and which are left to XLA, and compares the two:
``python tools/host_census.py``.

Goes through PyTorch's OpInfo database (the ``parity`` extra), records each sample and its
gradients, and stages every kernel that came up. ``--ops REGEX`` takes some operators only,
``--dtypes float32 int64`` some dtypes, ``--samples N`` so many samples of each; ``--compare N``
also compiles every N-th kernel and compares it on random operands.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import random
import re
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "parity"))

import jax
import ml_dtypes
import numpy as np
import torch
from opinfo_running import counterpart, first_samples, ours  # pyright: ignore[reportMissingImports]
from torch.testing._internal.common_methods_invocations import op_db

import jtorch
from jtorch._src.engine.calls import all_calls
from jtorch._src.engine.host import Equation, stage
from jtorch._src.engine.host.rules import load
from jtorch._src.engine.host.staging import _HOLDERS, Unstaged
from jtorch._src.engine.tracing import traced

#: Results may be this far from XLA's, in units of the largest element: sums are taken in another
#: order.
_EPSILONS = 64


def record(function: Any, sample: Any, gradients: bool) -> None:
    """Records a call and its derivatives, and throws the results away."""
    given = [ours(x) for x in (sample.input, sample.args, sample.kwargs)]
    leaves = [
        x
        for x in jax.tree.leaves(given, is_leaf=lambda x: isinstance(x, jtorch.Tensor))
        if isinstance(x, jtorch.Tensor)
    ]
    leaves = [
        x.requires_grad_()
        for x in leaves
        if gradients and x.is_leaf and (x.is_floating_point() or x.is_complex())
    ]
    found = function(given[0], *given[1], **given[2])
    made = jax.tree.leaves(found, is_leaf=lambda x: isinstance(x, jtorch.Tensor))
    made = [x for x in made if isinstance(x, jtorch.Tensor) and x.requires_grad]
    if leaves and made:
        jtorch.autograd.grad(made, leaves, [jtorch.ones_like(x) for x in made], allow_unused=True)


def kernels(seen: set[Any]) -> Iterator[tuple[Any, Any]]:
    """The kernels that have come up since the last time, each with its jaxpr."""
    for call in all_calls():
        for avals in list(call.shapes):
            if (call, avals) not in seen and hasattr(call.jitted, "trace"):
                seen.add((call, avals))
                with contextlib.suppress(Exception):  # a kernel of the host, which is no JAX
                    yield call, traced(call, avals)[0]


def reasons(closed: Any) -> set[str]:
    """What of a jaxpr has no rule: primitives, with the dtypes where only these are the reason."""
    rules, found = load(), set()

    def program(inner: Any) -> Any:
        missing = reasons(inner)
        found.update(missing)
        return None if missing else stage(inner)

    if closed.jaxpr.effects:
        found.add(f"effects {closed.jaxpr.effects}")
    for e in closed.jaxpr.eqns:
        name = e.primitive.name
        if name in _HOLDERS:
            inner = e.params.get("jaxpr") or e.params.get("call_jaxpr") or e.params.get("fun_jaxpr")
            found |= reasons(
                inner if hasattr(inner, "jaxpr") else jax.extend.core.ClosedJaxpr(inner, ())
            )
            continue
        ins, outs = tuple([x.aval for x in e.invars]), tuple([x.aval for x in e.outvars])
        if name not in rules:
            found.add(name)
            continue
        before = set(found)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = rules[name].make(Equation(name, ins, outs, e.params, program))
        if made is None and found == before:
            found.add(f"{name} of {', '.join(dict.fromkeys(str(a.dtype) for a in ins))}")
    return found


def operands(closed: Any) -> list[Any]:
    """Random operands; integers are such as may be places."""
    rng = np.random.default_rng(0)
    found = []
    for a in closed.in_avals:
        kind = (
            "f"
            if ml_dtypes.finfo is not None and jax.numpy.issubdtype(a.dtype, np.floating)
            else a.dtype.kind
        )
        if kind == "f":
            x = rng.standard_normal(a.shape)
        elif kind == "c":
            x = rng.standard_normal(a.shape) + 1j * rng.standard_normal(a.shape)
        else:
            x = rng.integers(0, 2, a.shape)
        found.append(np.asarray(x).astype(a.dtype))
    return found


def difference(closed: Any, program: Any) -> str:
    """How the results differ; empty if they do not."""
    given = operands(closed)
    with np.errstate(all="ignore"):
        found = program(*given)
    wanted = jax.tree.leaves(jax.jit(jax.extend.core.jaxpr_as_fun(closed))(*given))
    for i, (g, w) in enumerate(zip(found, wanted, strict=True)):
        g, w = np.asarray(g), np.asarray(w)
        if (g.shape, g.dtype) != (w.shape, w.dtype):
            return f"result {i}: {g.dtype}{g.shape}, not {w.dtype}{w.shape}"
        if w.dtype.kind in "biu":
            if not np.array_equal(g, w):
                return f"result {i}: {int((g != w).sum())} of {w.size} {w.dtype} differ"
            continue
        eps = float(ml_dtypes.finfo(w.dtype).eps)
        wide = np.complex128 if w.dtype.kind == "c" else np.float64
        g, w = g.astype(wide), w.astype(wide)
        if not (
            np.array_equal(np.isnan(g), np.isnan(w))
            and np.array_equal(g[np.isinf(g)], w[np.isinf(w)], equal_nan=True)
        ):
            return f"result {i}: other elements are not finite"
        finite = np.isfinite(w)
        if finite.any():
            off = np.abs(g[finite] - w[finite]).max() / max(np.abs(w[finite]).max(), 1e-30) / eps
            if off > _EPSILONS:
                return f"result {i}: {off:.3g} epsilons apart"
    return ""


def main(argv: list[str] | None = None) -> int:
    """Counts and prints; 1 if some kernel's results differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ops", default="", metavar="REGEX")
    parser.add_argument(
        "--dtypes", nargs="+", default=["float32", "bfloat16", "int64", "complex64"]
    )
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--compare", type=int, default=0, metavar="N")
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="stop there; operators come in an order by chance",
    )
    args = parser.parse_args(argv)
    end = time.monotonic() + args.seconds
    warnings.simplefilter("ignore")
    total = staged = compared = 0
    left: collections.Counter[str] = collections.Counter()
    examples: dict[str, list[str]] = collections.defaultdict(list)
    apart: list[str] = []
    failed: list[str] = []
    seen: set[Any] = set()
    chosen = [op for op in op_db if re.search(args.ops, op.full_name)]
    random.Random(0).shuffle(chosen)
    for done, op in enumerate(chosen):
        if time.monotonic() > end:
            sys.stdout.write(f"{done} of {len(chosen)} operators\n")
            break
        for name in args.dtypes:
            dtype = getattr(torch, name)
            if dtype not in op.supported_dtypes("cpu"):
                continue
            with contextlib.suppress(Exception):  # what the parity suite looks at
                function = counterpart(op.op)
                for sample in first_samples(op, dtype, args.samples):
                    with contextlib.suppress(Exception), jtorch.execution("deferred"):
                        record(function, sample, name != "int64")
            for call, closed in kernels(seen):
                total += 1
                label = (
                    f"{op.full_name} ({call.name}, "
                    f"{', '.join(dict.fromkeys(str(a.dtype) for a in closed.in_avals))})"
                )
                try:
                    program = stage(closed)
                except Unstaged:
                    for reason in reasons(closed):
                        left[reason] += 1
                        if label not in examples[reason]:
                            examples[reason].append(label)
                    continue
                except Exception as error:
                    failed.append(f"{label}: {type(error).__name__}: {error}")
                    continue
                staged += 1
                if args.compare and staged % args.compare == 0:
                    compared += 1
                    try:
                        off = difference(closed, program)
                    except Exception as error:
                        off = f"{type(error).__name__}: {error}"
                    if off:
                        apart.append(f"{label}: {off}")
                        print(f"  {apart[-1]}", flush=True)  # noqa: T201
    print(  # noqa: T201
        f"\n{staged} of {total} kernels staged; {compared} compared, {len(apart)} of them differ; "
        f"{len(failed)} failed to be staged"
    )
    for line in failed:
        print(f"  {line}")  # noqa: T201
    print("\nleft to XLA, by what has no rule (kernels, examples)")  # noqa: T201
    for reason, n in left.most_common():
        print(f"{n:5} {reason:45} {'; '.join(examples[reason][:3])}")  # noqa: T201
    if apart:
        print("\ndifferent")  # noqa: T201
        for line in apart:
            print(f"  {line}")  # noqa: T201
    return bool(apart or failed)


if __name__ == "__main__":
    sys.exit(main())
