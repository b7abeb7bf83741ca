"""Training steps on an accelerator, in float32, TF32 and bfloat16, PyTorch's beside them:
``python -m benchmarks.accelerators``.

``--write`` puts the table into ``docs/speed-accelerators.md``. Without a device it is said that
nothing was run, and the page stays as it is. Each contestant has a process of its own; the times
are medians of steps that have been warmed up, each of which reads its loss.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import time
from typing import Any

from .processes import ROOT, _environment

PAGE = ROOT / "docs" / "speed-accelerators.md"
#: Names of programs, and what they are called.
ROWS = {"mlp": "MLP 784-256-256-10, batch 32", "gpt": "GPT 2 blocks d 256 T 128 b 4",
        "resnet": "ResNet 3 blocks 32x32 b 32",
        "lstm": "LSTM T 64 h 256 b 32"}  # fmt: skip
PRECISIONS = ("float32", "TF32", "bfloat16")
WHO = ("deferred", "compiled", "torch")
NO_DEVICE = "no accelerator"


def here(row: str, who: str, precision: str) -> float:
    """Seconds of a step in this process.

    Raises:
        RuntimeError: if there is no device.
    """
    from .contest import mode_of, namespace
    from .table import _contests

    torch: Any = namespace(who)
    if not torch.cuda.is_available():
        raise RuntimeError(NO_DEVICE)
    torch.set_default_device("cuda")
    torch.set_float32_matmul_precision("high" if precision == "TF32" else "highest")
    torch.backends.cudnn.allow_tf32 = precision == "TF32"
    halves = (
        torch.autocast("cuda", torch.bfloat16)
        if precision == "bfloat16"
        else contextlib.nullcontext()
    )
    with mode_of(who), halves:
        step = _contests()[ROWS[row]]().builders[who]()
        until = time.perf_counter() + 20
        for _ in range(200):
            step.run()
            if time.perf_counter() > until:
                break
        spent = []
        for _ in range(100):
            begun = time.perf_counter()
            step.run()
            spent.append(time.perf_counter() - begun)
    return statistics.median(spent)


def _measured(row: str, who: str, precision: str) -> str:
    from .contest import seconds

    command = [sys.executable, "-m", "benchmarks.accelerators", "--here", row, who, precision]
    env = _environment(XLA_PYTHON_CLIENT_PREALLOCATE="false")
    env.pop("JAX_PLATFORMS", None)  # which would hide the device
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["failed"])[-1]
        return NO_DEVICE if NO_DEVICE in last else last.split(":")[0]
    return seconds(json.loads(done.stdout.splitlines()[-1]))


def main(argv: list[str] | None = None) -> int:
    """Prints the table, and writes it where that was asked."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accelerators", description=(__doc__ or "").split(":")[0]
    )
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}, too")
    parser.add_argument(
        "--here", nargs=3, metavar=("ROW", "WHO", "PRECISION"), help=argparse.SUPPRESS
    )
    args = parser.parse_args(argv)
    if args.here:
        print(here(*args.here))
        return 0
    from .contest import HAS_TORCH

    who = [w for w in WHO if w != "torch" or HAS_TORCH]
    if _measured(args.rows[0], "deferred", "float32") == NO_DEVICE:
        print("Not run: JAX finds no accelerator on this machine.")
        return 0
    lines = ["| step | precision | " + " | ".join(who) + " |", "|---|---|" + "---|" * len(who)]
    for row in args.rows:
        for precision in PRECISIONS:
            lines.append(
                f"| {ROWS[row]} | {precision} | "
                + " | ".join([_measured(row, w, precision) for w in who])
                + " |"
            )
            print(lines[-1], flush=True)
    if args.write:
        page = PAGE.read_text()
        head = page[: page.index("\n## Figures\n")]
        names = sorted({d.device_kind for d in _devices()})
        PAGE.write_text(
            f"{head}\n## Figures\n\nOn {', '.join(names)}, {time.strftime('%Y-%m-%d')}.\n\n"
            + "\n".join(lines)
            + "\n"
        )
    return 0


def _devices() -> list[Any]:
    import jax

    return jax.devices()


if __name__ == "__main__":
    sys.exit(main())
