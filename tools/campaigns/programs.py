"""Runs random programs here and on PyTorch and compares what they give, step by step.

    python -m tools.campaigns.programs --count 500 --seed 3 --mode both

A program is a list of statements over a few tensors: views, writes, indexing, casts, gradients,
transformations, control flow on values. PyTorch runs it first; then it runs here, deferred twice
(op by op, then compiled) or with each op at once. Compared are the kinds of errors, and of every
tensor the shape, dtype, values, ``requires_grad``, ``is_leaf`` and gradient; with ``--layout``
strides, offsets, versions and shared memory, too. A program that differs is made as short as it can
be and printed as a script. ``ALLOWED`` says what may differ.
"""

from __future__ import annotations

import functools
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import jtorch

from . import _report
from ._program_kernels import KERNELS
from ._program_scenes import SCENES
from ._program_steps import (
    DTYPES,
    FAMILIES,
    PREAMBLE,
    SCENERY,
    SHAPES,
    WEIGHTS,
    Fields,
    Unfilled,
    literal,
    prologue,
)

#: What may differ, and why.
ALLOWED = {
    "refused": "what is not offered raises NotImplementedError here",
    "more dtypes":
    ("PyTorch's kernels lack some dtypes ('\"...\" not implemented for'); such statements are left "
     "out"),
    "rounding":
    ("values differ by less than TOLERANCE of the largest one: other libraries compute sines, sums "
     "and products"), "carried":
    "a difference of rounding that was there before the statement, and that PyTorch's own value "
    "magnifies as much when its inputs change by their rounding, or its operands are given the "
    "numbers that we have: a comparison, a quotient by nearly nothing, a view as integers; or one "
    "of float32 in a float64 that was made of it",
    "rewritten":
    "a difference that PyTorch's own value reaches when all that is not exact on its way is "
    "changed by its rounding: XLA contracts products and sums, and rewrites formulas, of what it "
    "compiles together",
    "denormals":
    ("XLA takes numbers too small for a full mantissa for zero; no statement makes them of the "
     "bits of others"),
    "infinite complex numbers":
    "which part of one is infinite and which is NaN depends on how a product is written out",
    "refusals":
    ("what PyTorch refuses, or has changed before it refuses it, and works here (REFUSALS; "
     "docs/differences.md); left out"),
    "names":
    ("which of equal elements an index names, the sign of NaN, the mode of NaN: statements ask for "
     "what does not depend on these"), "overlaps":
    ("writes to, or from, elements that share memory depend on the order of PyTorch's loops; such "
     "statements are left out"),
}  # fmt: skip
#: Words of PyTorch's errors, and the functions (or "", for all) whose statements are left out when
#: they raise one with these words.
REFUSALS = {
    "Inplace update to inference tensor": "",
    "MKL FFT error": "fft.",
    "index 0 out of range for tensor of size [0]": "vmap",
    "does not support automatic differentiation for outputs with complex dtype": "",
    "view size is not compatible with input tensor's size and stride": "torch.kron",
    "Can't detach views in-place": "detach_",
    "ZeroTensors are immutable": "",
    "stack expects a non-empty TensorList": "jacobian",
    "arg_spec must not be None": "vmap",
    "Nested forward mode AD is not supported": "",
    "more than one element of the written-to tensor": "jacfwd",
    "Dimension out of range": "vmap",
    "Index to scalar can have only 1 value": "vmap",
}
#: Of the largest value of a tensor.
TOLERANCE = {
    "float32": 1e-4,
    "float64": 1e-9,
    "float16": 1e-2,
    "bfloat16": 6e-2,
    "complex64": 1e-4,
    "complex128": 1e-9,
}
#: By how much inputs are changed to see whether a value is well determined: their rounding.
ROUNDING = {
    "float32": 3e-7,
    "float64": 3e-16,
    "float16": 2e-3,
    "bfloat16": 1e-2,
    "complex64": 3e-7,
    "complex128": 3e-16,
}
#: Tensors that statements choose from.
LIVE = 12

#: A statement, and whether every tensor is read after it.
Step = tuple[str, bool]


@dataclass
class Seen:
    """What is compared of a tensor."""

    dtype: str
    shape: tuple[int, ...]
    values: np.ndarray
    flags: tuple[Any, ...]
    grad: tuple[str, tuple[int, ...], np.ndarray] | str | None
    layout: tuple[Any, ...]


@dataclass
class Difference:
    """Where a program differs: in which mode, after which step, in what."""

    mode: str
    step: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"[{self.mode}] step {self.step}, {self.kind}: {self.text}"


@functools.lru_cache(20_000)
def _code(line: str) -> Any:
    return compile(line, "<program>", "exec")


def _numbers(t: Any) -> np.ndarray:
    t = t.detach()
    if t.is_conj() or t.is_neg():
        t = t.resolve_conj().resolve_neg()
    return np.array((t.float() if str(t.dtype).endswith("bfloat16") else t).numpy(force=True))


def _probe(name: str, t: Any) -> Any:
    try:
        return getattr(t, name)
    except RuntimeError as error:
        return type(error).__name__


def _seen(module: Any, env: dict[str, Any], layout: bool) -> dict[str, Seen | str]:
    found: dict[str, Seen | str] = {}
    tensors = {k: v for k, v in env.items() if k[0] == "t" and k[1:].isdigit()}
    for name, t in tensors.items():
        if not isinstance(t, module.Tensor):
            found[name] = repr(t) if not isinstance(t, tuple) else "tuple"
            continue
        grad = _probe("grad", t)
        if isinstance(grad, module.Tensor):
            grad = (_name(grad), tuple(grad.shape), _numbers(grad))
        flags = (t.requires_grad, _probe("is_leaf", t), t.is_inference())
        extra: tuple[Any, ...] = ()
        if layout and t.numel():
            aliases = [
                other
                for other, u in tensors.items()
                if isinstance(u, module.Tensor) and u.numel() and u.data_ptr() == t.data_ptr()
            ]
            extra = (
                tuple(t.stride()),
                t.storage_offset(),
                None if t.is_inference() else t._version,
                t.is_contiguous(),
                aliases,
            )
        found[name] = Seen(_name(t), tuple(t.shape), _numbers(t), flags, grad, extra)
    return found


def _before(steps: Sequence[Step]) -> str:
    return prologue("\n".join(line for line, _ in steps))


def _name(t: Any) -> str:
    return str(t.dtype).rpartition(".")[2]


@dataclass
class Run:
    """What a program gave: an error or None for each step, and what was seen after it, if
    anything."""

    errors: list[Exception | None]
    seen: list[dict[str, Seen | str] | None]


def run(
    module: Any,
    steps: Sequence[Step],
    layout: bool,
    failing: Sequence[bool] = (),
    change: float = 0.0,
    shaken: np.random.Generator | None = None,
) -> Run:
    """Runs a program.

    Args:
        failing: which steps are known to raise an error.
        change: in units of ``ROUNDING``, by how much numbers written out in the program are
            changed.
        shaken: what draws how much of ``ROUNDING`` every number that is not exact is changed by
            after each step, on PyTorch.
    """
    env: dict[str, Any] = {"torch": module}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(_code(_before(steps)), env)
        found = Run([], [])
        for i, (line, read) in enumerate(steps):
            error = None
            try:
                exec(_code(line), env)
                if i < len(failing) and failing[i] and module is jtorch:
                    jtorch.synchronize()
            except Exception as raised:
                error = raised
            if change and " = torch.tensor(" in line and error is None:
                t = env[line.partition(" ")[0]]
                if _name(t) in ROUNDING:
                    t.mul_(1 + change * ROUNDING[_name(t)] * (1 + i % 3))
            if shaken is not None:
                _shake(env, shaken)
            found.errors.append(error)
            found.seen.append(_seen(module, env, layout) if read or i == len(steps) - 1 else None)
    return found


def _shake(env: dict[str, Any], rng: np.random.Generator) -> None:
    """Changes the numbers of PyTorch's tensors by their rounding, but for those that are short
    enough to be exact results."""
    for name, t in env.items():
        if (
            name[0] != "t"
            or not name[1:].isdigit()
            or not isinstance(t, torch.Tensor)
            or _name(t) not in ROUNDING
            or not t.numel()
        ):
            continue
        if _overlaps(t) or t._is_zerotensor():
            continue
        values = _numbers(t)
        with np.errstate(all="ignore"):
            parts = [values.real, values.imag] if np.iscomplexobj(values) else [values]
            digits = -np.log2(ROUNDING[_name(t)]) * 2 / 3
            short = [
                np.ldexp(np.frexp(np.where(np.isfinite(p), p, 0))[0], int(digits)) for p in parts
            ]
            exact = np.all([s == np.rint(s) for s in short], axis=0)
            moved = values * (1 + rng.uniform(-1, 1, values.shape) * ROUNDING[_name(t)])
            moved = torch.from_numpy(
                np.where(exact, values, moved).astype(values.dtype).reshape(values.shape)
            )
        if t.is_inference():
            with torch.inference_mode():
                t.copy_(moved)
        else:
            t.data.copy_(moved)


# ---- comparing -----------------------------------------------------------------------------------


def _apart(
    a: np.ndarray, b: np.ndarray, dtype: str, least: float = 0.0, share: float = 1.0
) -> bool:
    if dtype not in TOLERANCE:
        return not np.array_equal(a, b)
    finite = np.abs(b[np.isfinite(b)])
    if "complex" in dtype and a.shape == b.shape:
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return True
        a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    with np.errstate(all="ignore"):
        tolerance = (
            share
            * max(least, TOLERANCE[dtype])
            * max(1.0, float(finite.max()) if finite.size else 1.0)
        )
        return not np.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True)


def _coarsest(steps: Sequence[Step]) -> float:
    """The tolerance of the least exact numbers that a program may have on its way; some statements
    make float32."""
    text = " ".join(line for line, _ in steps)
    return max(TOLERANCE[name] for name in TOLERANCE if name == "float32" or name in text)


def _differs(ours: Seen | str, theirs: Seen | str, least: float = 0.0) -> tuple[str, str] | None:
    """In what a tensor differs by more than a tolerance, in a word, and how."""
    if isinstance(ours, str) or isinstance(theirs, str):
        return None if ours == theirs else ("values", f"{ours} != {theirs}")
    for what in ("dtype", "shape", "flags", "layout"):
        a, b = getattr(ours, what), getattr(theirs, what)
        if a != b:
            return what, f"{a} != {b}"
    if _apart(ours.values, theirs.values, ours.dtype, least):
        return "values", f"{ours.values.ravel()[:8]} != {theirs.values.ravel()[:8]}"
    a, b = ours.grad, theirs.grad
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return None if a == b else ("grad", f"{a} != {b}")
    if a[:2] != b[:2]:
        return "grad", f"{a[:2]} != {b[:2]}"
    return (
        ("values", f"of grad: {a[2].ravel()[:8]} != {b[2].ravel()[:8]}")
        if _apart(a[2], b[2], a[0], least)
        else None
    )


def _same_bits(ours: dict[str, Seen | str], theirs: dict[str, Seen | str]) -> bool:
    for name, b in theirs.items():
        a = ours.get(name)
        if isinstance(a, Seen) and isinstance(b, Seen):
            grads = (
                isinstance(a.grad, tuple)
                and isinstance(b.grad, tuple)
                and not np.array_equal(a.grad[2], b.grad[2], equal_nan=True)
            )
            if grads or not np.array_equal(a.values, b.values, equal_nan=a.dtype in TOLERANCE):
                return False
    return True


def _kind_of(error: Exception | None) -> str:
    """The name of an error's class: those that are not Python's there are two of."""
    return type(error).__name__


def _first(mode: str, ours: Run, theirs: Run, refused: Counter[str]) -> Difference | None:
    for i, (mine, wanted) in enumerate(zip(ours.errors, theirs.errors, strict=True)):
        if isinstance(mine, NotImplementedError) and not isinstance(wanted, NotImplementedError):
            refused[str(mine).split(":")[0][:80]] += 1
            return Difference(mode, i, "refused", str(mine))
        if _kind_of(mine) != _kind_of(wanted):
            return Difference(mode, i, "error", f"{mine!r:.160} instead of {wanted!r:.160}")
        a, b = ours.seen[i], theirs.seen[i]
        if a is None or b is None:
            continue
        for name in b:
            found = _differs(a[name], b[name])
            if found is not None:
                return Difference(mode, i, found[0], f"{name} {found[1]}")
    return None


def _well_determined(steps: Sequence[Step], at: Difference, layout: bool, theirs: Run) -> bool:
    """Whether PyTorch's own value stays where it is when the program's numbers change by their
    rounding."""
    name = at.text.partition(" ")[0]
    wanted = theirs.seen[at.step][name]  # type: ignore[index]
    for change in (1.0, -1.0, 2.5):
        other = run(torch, steps, layout, change=change)
        if any(type(a) is not type(b) for a, b in zip(other.errors, theirs.errors, strict=True)):
            return False
        seen = other.seen[at.step]
        if seen is not None and _differs(seen[name], wanted) is not None:
            return False
        moved = None if seen is None else seen[name]
        if (
            isinstance(wanted, Seen)
            and isinstance(moved, Seen)
            and _apart(moved.values, wanted.values, wanted.dtype, share=0.1)
        ):
            return False
    return True


def difference(
    steps: Sequence[Step],
    modes: Sequence[str],
    layout: bool,
    refused: Counter[str] | None = None,
    times: int = 2,
) -> Difference | None:
    """The first difference that is not allowed. Deferred programs run ``times``: a trace that comes
    again is compiled."""
    theirs = run(torch, steps, layout)
    failing = [error is not None for error in theirs.errors]
    refused = Counter() if refused is None else refused
    for mode in modes:
        for _ in range(times if mode == "deferred" else 1):
            with jtorch.execution(mode):
                ours = run(jtorch, steps, layout, failing)
                found = _first(mode, ours, theirs, refused)
            if found is None or found.kind == "refused":
                continue
            if found.kind in ("values", "shape") and not _own(steps, mode, layout, failing):
                refused["carried"] += 1
                continue
            if found.kind == "values" and _moves_as_far(steps, found, ours, theirs):
                refused["rewritten"] += 1
                continue
            return found
    return None


def _own(steps: Sequence[Step], mode: str, layout: bool, failing: Sequence[bool]) -> bool:
    """Whether values differ by a statement of their own, or by the rounding of earlier ones that
    the program magnifies."""
    steps = [(line, True) for line, _ in steps]
    theirs = run(torch, steps, layout)
    with jtorch.execution(mode):
        ours = run(jtorch, steps, layout, failing)
    found = _first(mode, ours, theirs, Counter())
    if found is None or found.kind not in ("values", "shape"):
        return True  # only while ops are compiled together, or something else altogether
    before = found.step - 1
    if before >= 0 and _follows(steps, found, ours):
        return False
    if before < 0 or _same_bits(ours.seen[before] or {}, theirs.seen[before] or {}):
        return True
    name = found.text.partition(" ")[0]
    if (
        _differs(ours.seen[found.step][name], theirs.seen[found.step][name], _coarsest(steps))
        is None
    ):  # type: ignore[index]
        return False
    return _well_determined(steps, found, layout, theirs)


def _moves_as_far(steps: Sequence[Step], at: Difference, ours: Run, theirs: Run) -> bool:
    """Whether PyTorch's own value moves as far as ours lies from it, when all that is not exact on
    its way is changed by its rounding.

    What comes out otherwise only while steps are compiled together (contraction, formulas that XLA
    rewrites) changes no more than that.
    """
    name = at.text.partition(" ")[0]
    mine, wanted = (ours.seen[at.step] or {})[name], (theirs.seen[at.step] or {})[name]
    if not isinstance(mine, Seen) or not isinstance(wanted, Seen):
        return False
    others = []
    for seed in range(12):
        seen = run(torch, steps, False, shaken=np.random.default_rng(seed)).seen[at.step]
        if (
            seen is not None
            and isinstance(other := seen[name], Seen)
            and other.values.shape == wanted.values.shape
        ):
            others.append(other)
    if not others:
        return False
    pairs = [(mine.dtype, mine.values, wanted.values, [o.values for o in others])]
    if isinstance(mine.grad, tuple) and isinstance(wanted.grad, tuple):
        pairs.append(
            (
                mine.grad[0],
                mine.grad[2],
                wanted.grad[2],
                [o.grad[2] for o in others if isinstance(o.grad, tuple)],
            )
        )
    return all(_reached(*pair) for pair in pairs)


def _reached(dtype: str, mine: np.ndarray, wanted: np.ndarray, others: list[np.ndarray]) -> bool:
    """Whether each number of ours lies within four times what the others moved to, or is of a kind
    that some of them are."""
    if not _apart(mine, wanted, dtype):
        return True
    with np.errstate(all="ignore"):
        if dtype not in TOLERANCE:
            values = np.stack([wanted, *others]).astype(np.float64)
            low, high, own = values.min(0), values.max(0), mine.astype(np.float64)
            return bool(((own >= low - 3 * (high - low)) & (own <= high + 3 * (high - low))).all())
        moved = np.max([np.abs(o - wanted) for o in others], axis=0, initial=0)
        lost = np.any([~np.isfinite(o) for o in others], axis=0) & np.any(
            [np.isfinite(o) for o in (wanted, *others)], axis=0
        )
        scale = max(1.0, float(np.max(np.abs(wanted), where=np.isfinite(wanted), initial=0)))
        same = (mine == wanted) | (np.isnan(mine) & np.isnan(wanted)) | lost
        return bool((same | (np.abs(mine - wanted) <= 4 * moved + TOLERANCE[dtype] * scale)).all())


def _follows(steps: Sequence[Step], at: Difference, ours: Run) -> bool:
    """Whether PyTorch's statement gives what ours does when its tensors hold our numbers, which lie
    within the tolerance of its own."""
    env: dict[str, Any] = {"torch": torch}
    name = at.text.partition(" ")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(_code(_before(steps)), env)
        for line, _ in steps[: at.step]:
            try:
                exec(_code(line), env)
            except Exception:
                continue
        for key, mine in (ours.seen[at.step - 1] or {}).items():
            if not isinstance(mine, Seen) or mine.dtype not in TOLERANCE or not mine.values.size:
                continue
            if not _overlaps(env[key]) and not env[key]._is_zerotensor():
                env[key].data.copy_(torch.from_numpy(mine.values))
        try:
            exec(_code(steps[at.step][0]), env)
        except Exception:
            return False
        theirs = _seen(torch, {name: env[name]}, False)[name]
    mine = (ours.seen[at.step] or {})[name]
    return _differs(mine, theirs) is None


# ---- writing -------------------------------------------------------------------------------------


def _overlaps(t: Any) -> bool:
    reach = 0
    for s, n in sorted((s, n) for s, n in zip(t.stride(), t.shape, strict=True) if n > 1):
        if s <= reach:
            return True
        reach += s * (n - 1)
    return False


def _place(t: Any) -> tuple[Any, ...]:
    return tuple(t.shape), tuple(t.stride()), t.storage_offset()


def _hazard(family: str, line: str, fields: Fields) -> bool:
    """Whether a write depends on the order of PyTorch's loops."""
    if family not in ("writes", "draws", "places") and "_(" not in line and "out=" not in line:
        return False
    tensors = [fields.tensors[name] for name in dict.fromkeys(fields.operands)]
    main = fields.tensors[fields.main] if fields.main else None
    if any(
        _overlaps(t)
        for t in (fields.tensors.values() if family in ("writes", "draws") else tensors)
    ):
        return True
    for t in tensors[1:]:
        if t.untyped_storage().data_ptr() == main.untyped_storage().data_ptr() and (
            " = " in line or _place(t) != _place(main)
        ):  # type: ignore[union-attr]
            return True
    return False


def write(
    seed: int,
    length: int,
    families: Sequence[str] = tuple(FAMILIES),
    templates: int = 0,
    dtypes: Sequence[str] = DTYPES,
) -> list[Step]:
    """A random program. PyTorch runs it while it is written, as choices depend on shapes and
    dtypes.

    Args:
        templates: so many statements of each family at most, and four shapes and dtypes, for forty
            seeds, so that programs meet again what is compiled already.
    """
    rng = random.Random(seed)
    chosen = random.Random(seed // 40)
    shapes = chosen.sample(SHAPES, 4) if templates else SHAPES
    dtypes = [chosen.choice(dtypes) for _ in range(4)] if templates else dtypes
    pools = {
        f: chosen.sample(FAMILIES[f], min(templates, len(FAMILIES[f])))
        if templates
        else FAMILIES[f]
        for f in families
    }
    env: dict[str, Any] = {"torch": torch}
    exec(
        _code(PREAMBLE + SCENERY if set(families) & (set(SCENES) | set(KERNELS)) else PREAMBLE), env
    )
    steps: list[Step] = []
    made = 0

    def add(line: str, read: bool) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(_code(line), env)
        steps.append((line, read))

    for _ in range(rng.randint(2, 4)):
        add(f"t{made} = {literal(rng, shapes, dtypes)}", False)
        made += 1
    for _ in range(20 * length):
        if len(steps) >= length:
            break
        live = [
            k
            for k, v in env.items()
            if k[0] == "t" and k[1:].isdigit() and isinstance(v, torch.Tensor)
        ]
        family = rng.choices(families, [WEIGHTS[f] for f in families])[0]
        fields = Fields(rng, {k: env[k] for k in live[-LIVE:]}, f"t{made}")
        try:
            line = rng.choice(pools[family]).format_map(fields)
        except Unfilled:
            continue
        if _hazard(family, line, fields):
            continue
        try:
            add(line, rng.random() < 0.12)
        except Exception as error:
            known = (
                "not implemented for" in str(error)
                or isinstance(error, NotImplementedError)
                or "INTERNAL ASSERT" in str(error)
            )
            known = known or any(
                words in str(error) and function in line for words, function in REFUSALS.items()
            )
            if not known and rng.random() < 0.3:
                steps.append((line, False))
            continue
        if line.startswith(f"t{made} ") or f" t{made} = " in line:
            # which NumPy does not have
            if getattr(env[f"t{made}"], "dtype", None) is torch.complex32:
                steps[-1] = line, False
                add(f"t{made} = None", False)
            if isinstance(env[f"t{made}"], torch.Tensor) and env[f"t{made}"].numel() > 400:
                add(f"t{made} = t{made}.detach().flatten()[:6].clone()", False)
            made += 1
        if len(live) > 2 * LIVE:
            add(f"del {live[0]}", False)
    return steps


def shorter(
    steps: list[Step], found: Difference, layout: bool, seconds: float = 60.0
) -> tuple[list[Step], Difference]:
    """The program without the steps that its difference does not need."""
    until = time.monotonic() + seconds
    steps = steps[: found.step + 1]
    steps[-1] = (steps[-1][0], True)
    size = max(1, len(steps) // 2)
    while size and time.monotonic() < until:
        i, changed = 0, False
        while i < len(steps) and time.monotonic() < until:
            rest = _runnable(steps[:i] + steps[i + size :])
            again = difference(rest, [found.mode], layout) if rest else None
            if again is not None and again.kind == found.kind:
                steps, found, changed = rest, again, True
            else:
                i += size
        if not changed or size > 1:
            size //= 2
    return steps, found


def _runnable(steps: list[Step]) -> list[Step]:
    """The steps whose names are all there."""
    errors = run(torch, steps, False).errors
    return [s for s, error in zip(steps, errors, strict=True) if not isinstance(error, NameError)]


def script(steps: Sequence[Step], found: Difference) -> str:
    """A program as a script for either of the two."""
    body = "\n".join(line for line, _ in steps)
    uses = "Square" in body or "net" in body or _before(steps) != PREAMBLE
    last = found.text.partition(" ")[0]
    text = (
        f"# {found}\nimport jtorch as torch  # or: import torch\n"
        + (_before(steps) if uses else "")
        + body
    )
    return text + (f"\nprint({last})" if last.startswith("t") and last[1:].isdigit() else "")


def main(argv: list[str] | None = None) -> int:
    """Writes, runs and compares programs; 1 if some differ."""
    parser = _report.options(__doc__, 200)
    parser.add_argument("--mode", choices=("deferred", "immediate", "both"), default="both")
    parser.add_argument(
        "--layout",
        action="store_true",
        help="compare strides, offsets, versions and shared memory, too",
    )
    parser.add_argument(
        "--families",
        nargs="+",
        choices=list(FAMILIES),
        default=list(FAMILIES),
        help="kinds of statements",
    )
    given = parser.parse_args(argv)
    modes = ("deferred", "immediate") if given.mode == "both" else (given.mode,)
    report = _report.report("programs", given, 200)
    torch.set_num_threads(1)
    seed = given.seed * 1_000_000
    refused: Counter[str] = Counter()
    while report.goes_on():
        seed += 1
        report.tried += 1
        steps = write(seed, 5 + seed * 7 % 36, given.families, 12)
        report.seen["steps"] += len(steps)
        found = difference(steps, modes, given.layout, refused)
        if found is not None:
            small, found = shorter(steps, found, given.layout)
            report.seen[f"differing in {found.kind}"] += 1
            report.fail(f"seed {seed}\n{script(small, found)}\n")
    report.seen["carried"], report.seen["rewritten"] = (
        refused.pop("carried", 0),
        refused.pop("rewritten", 0),
    )
    for what, n in refused.most_common():
        print(f"refused {n} times: {what}")
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
