"""Calls every public function with arguments that no sane program gives, beside PyTorch: the
process must live, and the answer be the same.

    python -m tools.campaigns.hostile --seconds 600 --seed 1 [--function REGEX] [--number N] [--show 20] [--details FILE]

Valid arguments come from PyTorch's database of samples; one or two of them are replaced. Both
libraries run in processes of their own, of limited memory, which are started anew after a crash or
a hang; a call hangs when it has taken that much of a processor, or waits for ten times as long.
What differs is counted by class and function, and can be run again by itself: a call depends on the
seed, the function and its number alone. ``--details`` keeps every difference, a line of JSON each.
"""  # noqa: E501

from __future__ import annotations

import argparse
import collections
import faulthandler
import io
import json
import math
import os
import pickle
import random
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from typing import Any

#: Seconds of a processor for one call, and bytes of address space for each process.
PATIENCE, MEMORY = 20.0, 8 << 30
#: How much longer a call may wait than compute, on machines with much to do.
WAITING = 10
NAMESPACES = ("", "Tensor", "nn.functional", "linalg", "fft", "special")
#: Functions that change how the process works, reach out of it, or wait for others.
LEFT_OUT = re.compile(
    r"^(set_|use_|compile|save|load|hub|from_file|import_ir|manual_seed|seed|get_|is_|enable|init|_|fork|wait|autocast|vmap|classes|ops"
    r"|Tensor\.(backward|register|share_memory|pin_memory|cuda|xpu|mtia|ipu|to_mkldnn|apply|map|storage|untyped|typed|requires_grad|_|set_)"
    r"|cond|classproperty|while_loop|export|unravel|parse_|prepare_|typename|profiler|fbgemm|quantize|cudnn|miopen|mkldnn|sym_|frombuffer|from_numpy)"
)
#: Results whose elements say nothing.
UNSPECIFIED = re.compile(r"empty|resize|new$|data_ptr|__hash__|__repr__|element_size")

# ---- values between processes --------------------------------------------------------------------


class Described:
    """A tensor as it travels: its elements as nested lists, and how it lies in memory."""

    def __init__(
        self,
        dtype: str,
        shape: tuple[int, ...],
        elements: list[Any],
        form: str = "",
        grad: bool = False,
    ) -> None:
        self.dtype, self.shape, self.elements, self.form, self.grad = (
            dtype,
            shape,
            elements,
            form,
            grad,
        )

    def build(self, torch: Any) -> Any:
        """The tensor in a library."""
        dtype = getattr(torch, self.dtype)
        made = torch.tensor(self.elements, dtype=dtype).reshape(self.shape)
        if self.form == "wide":
            made = torch.zeros(1, dtype=dtype).expand(2**40)
        elif self.form == "meta":
            made = torch.empty(self.shape, dtype=dtype, device="meta")
        elif self.form == "turned" and len(self.shape) > 1:
            made = made.transpose(0, 1).contiguous().transpose(0, 1)
        elif self.form == "strided" and self.shape:
            made = torch.stack([made, made], -1)[..., 0]
        return made.requires_grad_() if self.grad else made

    def __repr__(self) -> str:
        return (
            f"<{self.dtype} {list(self.shape)}{' ' + self.form if self.form else ''}"
            f"{' grad' if self.grad else ''}>"
        )


class Named:
    """Something of the library itself: a dtype, a memory format."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


def described(torch: Any, x: Any) -> Any:
    """An argument as it travels.

    Raises:
        ValueError: if it cannot.
    """
    if isinstance(x, torch.Tensor):
        if (
            x.layout != torch.strided
            or x.is_quantized
            or x.numel() > 512
            or type(x) not in (torch.Tensor, torch.nn.Parameter)
        ):
            raise ValueError("a tensor that does not travel")
        return Described(
            str(x.dtype).removeprefix("torch."),
            tuple(x.shape),
            x.detach().flatten().tolist(),
            grad=x.requires_grad,
        )
    if isinstance(x, (torch.dtype, torch.layout, torch.memory_format)):
        return Named(str(x).removeprefix("torch."))
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple, torch.Size):
        return (list if type(x) is list else tuple)(described(torch, y) for y in x)
    if x is None or type(x) in (int, float, bool, complex, str, slice):
        return x
    raise ValueError(f"{type(x)} does not travel")


def built(torch: Any, x: Any) -> Any:
    """The argument in a library."""
    if isinstance(x, Described):
        return x.build(torch)
    if isinstance(x, Named):
        return getattr(torch, x.name)
    return type(x)([built(torch, y) for y in x]) if isinstance(x, (list, tuple)) else x


# ---- the processes that call ---------------------------------------------------------------------


def _outcome(torch: Any, x: Any, unspecified: bool) -> Any:
    if isinstance(x, torch.Tensor):
        facts = ("tensor", str(x.dtype).removeprefix("torch."), tuple(x.shape), x.device.type)
        if unspecified or x.device.type == "meta" or x.layout != torch.strided or x.numel() > 4096:
            return (*facts, None)
        return (*facts, x.detach().flatten().tolist())
    if isinstance(x, (list, tuple)):
        return ("several", [_outcome(torch, y, unspecified) for y in x])
    if x is None or isinstance(x, (bool, int, float, complex, str)):
        return ("plain", None if unspecified else x)
    return ("other", type(x).__name__)


def work(library: str) -> None:
    """Answers calls until the input ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    warnings.simplefilter("ignore")
    import importlib

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    torch: Any = importlib.import_module(library)
    torch.set_num_threads(1)
    for _ in iter(int, 1):
        head = sys.stdin.buffer.read(8)
        if len(head) < 8:
            return
        path, args, kwargs = _Calls(
            io.BytesIO(sys.stdin.buffer.read(int.from_bytes(head, "big")))
        ).load()
        try:
            target: Any = torch
            for part in path.split("."):
                target = getattr(target, part)
            torch.manual_seed(0)
            found = target(
                *[built(torch, a) for a in args], **{k: built(torch, v) for k, v in kwargs.items()}
            )
            answer = ("value", _outcome(torch, found, bool(UNSPECIFIED.search(path))))
        except BaseException as error:
            answer = (
                "error",
                type(error).__name__,
                str(error)[:2000],
                [c.__name__ for c in type(error).__mro__],
            )
        data = pickle.dumps(answer)
        out.write(len(data).to_bytes(8, "big") + data)
        out.flush()


class _Calls(pickle.Unpickler):
    """Finds the classes of this file whether it is run or imported."""

    def find_class(self, module: str, name: str) -> Any:
        return (
            globals()[name] if name in ("Described", "Named") else super().find_class(module, name)
        )


def spent(pid: int) -> float:
    """The seconds of a processor that a process has had; 0 where that cannot be told."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Worker:
    """One library in a process of its own."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.process: subprocess.Popen[bytes] | None = None
        #: What the process wrote beside its answers: where it was when it died or hung.
        self.told = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as this does)

    def ask(self, call: Any) -> Any:
        """What a call gave: ``("value", ...)``, ``("error", ...)``, ``("died", status)`` or
        ``("hung",)``."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tools.campaigns.hostile", "--worker", self.library],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.told, bufsize=0,
            )  # fmt: skip
            self._exchange(("typename", ("start",), {}), 120)
        return self._exchange(call, PATIENCE)

    def where(self) -> str:
        """The last that the process said of itself."""
        self.told.seek(max(0, self.told.seek(0, os.SEEK_END) - 4000))
        return self.told.read().decode(errors="replace")

    def _answers(self, patience: float) -> bool:
        """Whether the process says something before it has computed, or waited, for too long."""
        process = self.process
        assert process is not None
        before, started = spent(process.pid), time.monotonic()
        while not select.select([process.stdout], [], [], min(1.0, patience))[0]:
            if (
                spent(process.pid) - before > patience
                or time.monotonic() - started > patience * WAITING
            ):
                return False
        return True

    def _exchange(self, call: Any, patience: float) -> Any:
        process = self.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        data = pickle.dumps(call)
        try:
            process.stdin.write(len(data).to_bytes(8, "big") + data)
            if not self._answers(patience):
                process.send_signal(signal.SIGUSR1)
                time.sleep(0.5)  # it tells where it is
                self.close()
                return ("hung", self.where())
            head = self._read(8)
            return pickle.loads(self._read(int.from_bytes(head, "big")))
        except (EOFError, BrokenPipeError):
            status = process.wait()
            self.process = None
            return ("died", status, self.where())

    def _read(self, n: int) -> bytes:
        data = b""
        while len(data) < n:
            more = self.process.stdout.read(n - len(data))  # type: ignore[union-attr]
            if not more:
                raise EOFError
            data += more
        return data

    def close(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


# ---- calls ---------------------------------------------------------------------------------------

INTS = [0, 1, -1, 2, -2, 7, -100, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64, -(2**64)]
FLOATS = [0.0, -1.0, 0.5, 1e-300, 1e300, -1e300, math.inf, -math.inf, math.nan]
WRONG = [None, True, "text", 1.5, 2, 1j, [], [1.5], (2, 3), {}, [None]]
DTYPES = ["bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float64", "complex64"]


def hostile_tensor(pick: random.Random, t: Described) -> Any:
    """A tensor that differs from a good one in one way."""
    kind = pick.choice(
        "dtype dtype empty scalar more less special negative wide meta form wrong grad".split()
    )
    made = Described(t.dtype, t.shape, list(t.elements), t.form, t.grad)
    if kind == "dtype":
        made.dtype, made.grad = pick.choice(DTYPES), False
        real = [abs(x) if isinstance(x, complex) else x for x in made.elements]
        whole = [
            int(x) % 100 if isinstance(x, (int, float)) and math.isfinite(x) else 0 for x in real
        ]
        made.elements = whole if made.dtype in ("uint8", "int8", "int32", "int64") else real
    elif kind == "empty":
        made.shape = (*t.shape[:-1], 0) if t.shape and pick.random() < 0.7 else (0,)
        made.elements = []
    elif kind == "scalar":
        made.shape, made.elements = (), (t.elements or [0])[:1]
    elif kind == "more":
        made.shape = (1, *t.shape) if pick.random() < 0.5 else (*t.shape, 1)
    elif kind == "less" and t.shape:
        rest = t.shape[1:]
        made.shape, made.elements = rest, t.elements[: math.prod(rest)]
        if len(made.elements) < math.prod(rest):
            made.elements = [0] * math.prod(rest)
    elif kind == "special" and t.dtype.startswith(("float", "bfloat", "complex")):
        made.elements = [pick.choice([math.nan, math.inf, -math.inf, 0.0, x]) for x in t.elements]
    elif kind == "negative":
        made.elements = [
            x if isinstance(x, (bool, complex)) else -abs(x) - 1 if t.dtype != "uint8" else x
            for x in t.elements
        ]
        if t.dtype.startswith("int") and pick.random() < 0.5:
            made.elements = [1 << 30 if t.dtype in ("int32", "int64") else 100] * len(t.elements)
    elif kind in ("wide", "meta"):
        made.form, made.grad = kind, False
    elif kind == "form":
        made.form = pick.choice(["turned", "strided"])
    elif kind == "grad" and t.dtype.startswith(("float", "complex")):
        made.grad = not t.grad
    else:
        return pick.choice(WRONG)
    return made


def hostile(pick: random.Random, x: Any) -> Any:
    """Something in an argument's place."""
    if isinstance(x, Described):
        return hostile_tensor(pick, x)
    if isinstance(x, (list, tuple)) and x and pick.random() < 0.8:
        if pick.random() < 0.2:
            return type(x)([*x, x[-1]]) if pick.random() < 0.5 else type(x)(x[:-1])
        at = pick.randrange(len(x))
        return type(x)([hostile(pick, y) if k == at else y for k, y in enumerate(x)])
    if pick.random() < 0.25:
        return pick.choice(WRONG)
    if type(x) is int:
        return pick.choice(INTS)
    if type(x) is float:
        return pick.choice(FLOATS + INTS)
    if isinstance(x, Named):
        return Named(pick.choice(DTYPES))
    return pick.choice([*WRONG, *INTS])


def mutated(
    pick: random.Random, args: list[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call with one or two of them made hostile."""
    args, kwargs = list(args), dict(kwargs)
    for _ in range(1 + (pick.random() < 0.3)):
        places: list[Any] = [*range(len(args)), *kwargs]
        what = pick.random()
        if what < 0.04 and args:
            args.pop()
        elif what < 0.07:
            kwargs[pick.choice(["dim", "dtype", "out", "keepdim", "nonsense"])] = pick.choice(
                [*WRONG, *INTS]
            )
        elif what < 0.12:
            args.append(pick.choice([*WRONG, *INTS]))
        elif places:
            at = pick.choice(places)
            holder: Any = args if isinstance(at, int) else kwargs
            holder[at] = hostile(pick, holder[at])
    return args, kwargs


def samples(seconds: float) -> dict[str, list[tuple[list[Any], dict[str, Any]]]]:
    """Good arguments by path: from PyTorch's database, else guesses of what might do."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    small = Described("float32", (2, 3), [0.5, 1.5, -0.5, 2.0, 0.25, -1.0])
    whole = Described("int64", (2, 3), [0, 1, 2, 2, 1, 0])
    guesses = [
        ([small], {}),
        ([small, small], {}),
        ([small, 1], {}),
        ([whole], {}),
        ([3], {}),
        ([small, 0, whole], {}),
        ([[2, 3]], {}),
    ]
    found: dict[str, list[Any]] = {}
    started = time.monotonic()
    for op in op_db:
        if time.monotonic() - started > seconds:
            break
        dtype = (
            torch.float32
            if torch.float32 in op.dtypes
            else next(iter(sorted(op.dtypes, key=str)), None)
        )
        if dtype is None:
            continue
        torch.manual_seed(0)
        good = []
        try:
            for n, s in enumerate(op.sample_inputs("cpu", dtype)):
                if len(good) >= 6 or n > 24:
                    break
                try:
                    good.append(
                        (
                            [described(torch, a) for a in (s.input, *s.args)],
                            {k: described(torch, v) for k, v in s.kwargs.items()},
                        )
                    )
                except ValueError:
                    continue
        except Exception:
            continue
        for name in (op.name, *[a.name for a in op.aliases]):
            paths = [
                name,
                f"Tensor.{name.rpartition('.')[2]}",
                f"Tensor.{name.rpartition('.')[2]}_",
            ]
            for path in paths:
                found.setdefault(path, []).extend(good)
    known: dict[str, list[Any]] = {}
    for prefix in NAMESPACES:
        namespace: Any = torch
        for part in filter(None, prefix.split(".")):
            namespace = getattr(namespace, part)
        for name in sorted(dir(namespace)):
            path = f"{prefix}.{name}".lstrip(".")
            value = getattr(namespace, name, None)
            if (
                callable(value)
                and not isinstance(value, type)
                and not name.startswith("_")
                and not LEFT_OUT.match(path)
            ):
                known[path] = found.get(path) or guesses
    return known


# ---- comparison ----------------------------------------------------------------------------------

FOREIGN = re.compile(
    r"jax|xla|traced|ShapedArray|incompatible function arguments|invalid "
    r"operands|jitted|numpy|ufunc|broadcast_in_dim|object has no attribute|NoneType' "
    r"object|unsupported operand type|RESOURCE_EXHAUSTED|lax\.|_mlir",
    re.IGNORECASE,
)


def close(a: Any, b: Any, dtype: str) -> bool:
    """Whether elements agree, with room for rounding."""
    rtol = {"float16": 2e-2, "bfloat16": 6e-2, "float32": 2e-3, "complex64": 2e-3}.get(dtype, 1e-6)
    for x, y in zip(a, b, strict=True):
        parts = [(x.real, y.real), (x.imag, y.imag)] if isinstance(x, complex) else [(x, y)]
        for p, q in parts:
            if p == q or (p != p and q != q):
                continue
            if isinstance(p, (bool, int)) or not abs(p - q) <= rtol * max(abs(p), 1):
                return False
    return True


def difference(theirs: Any, ours: Any) -> str | None:
    """How two outcomes of calls differ; None if they agree."""
    if theirs[0] in ("died", "hung"):
        return None if ours[0] not in ("died", "hung") else f"{ours[0]}, as PyTorch"
    if ours[0] in ("died", "hung"):
        return ours[0]
    if (
        ours[0] == "error"
        and FOREIGN.search(ours[2])
        and not FOREIGN.search(theirs[2] if theirs[0] == "error" else "")
    ):
        return "foreign words" if theirs[0] == "error" else "refused in foreign words"
    if ours[0] == "error" and ours[1] == "NotImplementedError" and theirs[:2] != ours[:2]:
        return "not offered"
    if theirs[0] != ours[0]:
        return "accepted" if theirs[0] == "error" else "refused"
    if ours[0] == "error":
        if theirs[1] not in ours[3]:
            return "kind of error"
        return (
            None if theirs[2].split("\nException raised")[0].strip() == ours[2].strip() else "words"
        )
    return _differs(theirs[1], ours[1])


def _differs(a: Any, b: Any) -> str | None:
    if a[0] != b[0]:
        return "kind of result"
    if a[0] == "tensor":
        if a[1:4] != b[1:4]:
            return "dtype" if a[1] != b[1] else "shape" if a[2] != b[2] else "device"
        return None if a[4] is None or b[4] is None or close(a[4], b[4], a[1]) else "values"
    if a[0] == "several":
        if len(a[1]) != len(b[1]):
            return "kind of result"
        return next((d for d in map(_differs, a[1], b[1]) if d), None)
    if a[0] == "plain":
        return (
            None
            if a[1] == b[1]
            or a[1] != a[1]
            or (isinstance(a[1], float) and close([a[1]], [b[1]], "float32"))
            else "values"
        )
    return None


#: What matters most comes first; the rest is a matter of words.
CLASSES = ["died", "hung", "values", "shape", "dtype", "device", "kind of result",
           "refused in foreign words", "foreign words", "accepted",
           "refused", "kind of error", "not offered", "words", "died, as PyTorch",
           "hung, as PyTorch"]  # fmt: skip


def calls(seed: int, known: dict[str, Any]) -> Iterator[tuple[str, int, Any]]:
    """Calls without end, every function in turn."""
    number = 0
    paths = list(known)
    random.Random(seed).shuffle(paths)
    while True:
        for path in paths:
            good = known[path]
            pick = random.Random(f"{seed} {path} {number}")
            args, kwargs = pick.choice(good)
            if number % 12 != 11:  # a few good ones, too
                args, kwargs = mutated(pick, args, kwargs)
            yield path, number, (path, args, kwargs)
        number += 1


def say(text: str) -> None:
    """Prints a line."""
    sys.stdout.write(text + "\n")


def main() -> None:
    """Runs the campaign that the command line describes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--function", default="", help="a regular expression for paths such as nn.functional.pad"
    )
    parser.add_argument(
        "--show", type=int, default=5, help="how many differences of each class to show"
    )
    parser.add_argument("--number", type=int, help="only the call of that number of each function")
    parser.add_argument(
        "--details", help="a file to which each difference is written as it is found"
    )
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker)
        return
    warnings.simplefilter("ignore")
    known = {p: s for p, s in samples(240).items() if re.search(options.function, p)}
    theirs, ours = Worker("torch"), Worker("jtorch")
    counts: collections.Counter[str] = collections.Counter()
    shown: dict[str, dict[str, str]] = collections.defaultdict(dict)
    end = time.monotonic() + options.seconds
    total = 0
    try:
        for path, number, call in calls(options.seed, known):
            if time.monotonic() > end:
                break
            if options.number is not None and number != options.number:
                if number > options.number:
                    break
                continue
            total += 1
            a = theirs.ask(call)
            b = ours.ask(call)
            found = difference(a, b)
            if found is None:
                continue
            counts[found] += 1
            text = (
                f"{path}("
                f"{', '.join([repr(x) for x in call[1]] + [f'{k}={v!r}' for k, v in call[2].items()])}"  # noqa: E501
                f")  #{number}"
            )
            if options.details:
                with open(options.details, "a") as file:
                    json.dump(
                        {
                            "class": found,
                            "seed": options.seed,
                            "call": text,
                            "torch": str(a[:3]),
                            "jtorch": str(b[:3]),
                        },
                        file,
                    )
                    file.write("\n")
            shown[found].setdefault(
                path,
                f"  {text[:300]}\n    torch  {str(a[:3])[:300]}\n    jtorch {str(b[:3])[:300]}",
            )
    finally:
        theirs.close()
        ours.close()
    for name in CLASSES:
        if counts[name]:
            say(f"== {name}: {counts[name]} calls, {len(shown[name])} functions")
            for text in list(shown[name].values())[: options.show]:
                say(text)
    say(
        f"{total} calls of {len(known)} functions, seed {options.seed}: "
        + ", ".join(f"{counts[n]} {n}" for n in CLASSES if counts[n])
    )


if __name__ == "__main__":
    main()
