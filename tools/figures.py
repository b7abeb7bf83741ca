"""Draws the figures of the documents into ``docs/figures``: ``python tools/figures.py``
(``--check`` tells whether they are stale).

The plots show what the benchmarks measured, which is kept beside them. With the rows that ``SPEED``
and ``START`` name, ``python -m benchmarks.table --clock cpu --threads 1 --rows ... --json
docs/figures/measured.json`` measures it anew.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "figures"
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" '
    'role="img" font-family="system-ui, sans-serif" font-size="14">\n'
    "<title>{title}</title>\n"
    '<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0L10 5L0 10z" fill="#64748b"/></marker></defs>\n'
    '<rect width="{w}" height="{h}" rx="8" fill="#f8fafc"/>\n'
)
_COLOURS = {
    "plain": ("#e2e8f0", "#334155"),
    "warm": ("#fde68a", "#78350f"),
    "cool": ("#bfdbfe", "#1e3a8a"),
    "green": ("#bbf7d0", "#14532d"),
}


def box(x: int, y: int, w: int, h: int, colour: str, *lines: str) -> str:
    """A box with lines of text in its middle."""
    fill, ink = _COLOURS[colour]
    first = y + h / 2 - 9 * (len(lines) - 1) + 5
    style = f'text-anchor="middle" fill="{ink}"'
    text = "".join(
        f'<text x="{x + w / 2:g}" y="{first + 18 * i:g}" {style}>{line}</text>'
        for i, line in enumerate(lines)
    )
    return f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="6" fill="{fill}"/>{text}\n'


def arrow(x1: int, y1: int, x2: int, y2: int, label: str = "") -> str:
    """An arrow, with a label above its middle."""
    style = 'text-anchor="middle" fill="#475569" font-size="12"'
    text = (
        f'<text x="{(x1 + x2) / 2:g}" y="{(y1 + y2) / 2 - 7:g}" {style}>{label}</text>'
        if label
        else ""
    )
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#64748b" stroke-width="1.5" '
        f'marker-end="url(#a)"/>{text}\n'
    )


def note(x: int | str, y: int, text: str) -> str:
    """A line of small text."""
    return f'<text x="{x}" y="{y}" fill="#475569" font-size="12">{text}</text>\n'


def trace() -> str:
    """How calls become a path, and a reading runs it."""
    parts = [
        _HEAD.format(
            w=760, h=230, title="Operations are recorded into a trace; reading a value runs it"
        )
    ]
    calls = ["h = x @ w", "h = h.relu()", "loss = h.sum()", "loss.backward()"]
    for i, call in enumerate(calls):
        parts.append(box(20 + 150 * i, 20, 130, 40, "plain", call))
        parts.append(arrow(85 + 150 * i, 60, 85 + 150 * i, 106))
        parts.append(
            box(20 + 150 * i, 108, 130, 40, "warm", ["mm", "relu", "sum", "sum', relu', mm'"][i])
        )
        if i:
            parts.append(arrow(20 + 150 * i - 20, 128, 20 + 150 * i - 1, 128))
    parts.append(box(630, 20, 110, 40, "plain", "loss.item()"))
    parts.append(arrow(685, 60, 685, 106, ""))
    parts.append(arrow(600, 128, 629, 128))
    parts.append(box(630, 108, 110, 40, "green", "runs"))
    parts.append(
        note(20, 180, "Above: what the program says. Below: the path of the trace; no numbers yet.")
    )
    parts.append(
        note(
            20,
            200,
            "The second time, each call is looked up: the path, its shapes and what it needs are "
            "known.",
        )
    )
    return "".join(parts) + "</svg>\n"


def tiers() -> str:
    """What runs a kernel, and when that changes."""
    parts = [
        _HEAD.format(
            w=760,
            h=200,
            title="A kernel runs by NumPy first, then compiled alone, then within a compiled trace",
        )
    ]
    parts.append(box(20, 50, 180, 60, "warm", "host tier", "one kernel, by NumPy"))
    parts.append(box(300, 50, 180, 60, "cool", "kernel", "one kernel, by XLA"))
    parts.append(box(560, 50, 180, 60, "green", "trace", "all of it, one program"))
    parts.append(arrow(200, 80, 299, 80, "large, often"))
    parts.append(arrow(480, 80, 559, 80, "repeats"))
    parts.append(
        '<path d="M110 110C110 175 650 175 650 112" fill="none" stroke="#64748b" '
        'stroke-width="1.5" marker-end="url(#a)"/>\n'
    )
    parts.append(note(280, 178, "a step that came again so often that compiling pays"))
    parts.append(note(20, 30, "first run"))
    return "".join(parts) + "</svg>\n"


# ---- plots of what was measured ------------------------------------------------------------------

#: Rows of ``benchmarks.table`` and what the plots call them.
SPEED = {
    "chain of 100 on 512x512": "100 operations, 512 x 512",
    "MLP 784-256-256-10, batch 32": "MLP, training step",
    "GPT 2 blocks d 256 T 128 b 4": "GPT, training step",
    "ResNet 3 blocks 32x32 b 32": "ResNet, training step",
    "LSTM T 64 h 256 b 32": "LSTM, training step",
    "AdamW.step of 200 parameters": "AdamW, 200 parameters",
}
START = {"import": "import", "cold start of digits_cnn.py, second run": "examples/digits_cnn.py"}
_WHO = {
    "deferred": ("jtorch", "#2563eb"),
    "torch": ("PyTorch", "#ea580c"),
    "jit": ("jax.jit by hand", "#94a3b8"),
    "jnp": ("import jax", "#94a3b8"),
    "empty cache": ("jtorch, empty caches", "#93c5fd"),
}


def _measured() -> dict[str, dict[str, float]]:
    found = json.loads((FOLDER / "measured.json").read_text())
    return {
        row: {who: statistics.median(times) for who, times in rounds.items()}
        for row, rounds in found.items()
    }


def bars(
    title: str, rows: dict[str, dict[str, float]], shown: Callable[[float], str], remark: str
) -> str:
    """A group of bars for each row, one for each of ``_WHO`` that was measured."""
    kept = {
        name: {who: t for who, t in times.items() if who in _WHO} for name, times in rows.items()
    }
    longest = max(t for times in kept.values() for t in times.values())
    height = 64 + sum(20 * len(times) + 16 for times in kept.values())
    parts = [_HEAD.format(w=760, h=height, title=title)]
    y = 30
    for name, times in kept.items():
        parts.append(
            f'<text x="250" y="{y + 10 * len(times) + 4}" text-anchor="end" '
            f'fill="#334155">{name}</text>\n'
        )
        for who, (label, colour) in _WHO.items():
            if who in times:
                width = 330 * times[who] / longest
                parts.append(
                    f'<rect x="262" y="{y}" width="{width:.1f}" height="16" rx="2" '
                    f'fill="{colour}"/>'
                )
                parts.append(note(f"{268 + width:.1f}", y + 13, f"{label}: {shown(times[who])}"))
                y += 20
        y += 16
    parts.append(note(20, height - 12, remark))
    return "".join(parts) + "</svg>\n"


def speed() -> str:
    """Training steps and chains, by PyTorch's time."""
    measured = _measured()
    rows = {}
    for row, name in SPEED.items():
        times = measured.get(row, {})
        if "torch" not in times:
            continue  # not measured
        rows[name] = {
            who: times[who] / times["torch"] for who in ("deferred", "torch", "jit") if who in times
        }
    remark = (
        "By PyTorch's time (shorter is faster). Processor time on one core, medians of interleaved "
        "rounds."
    )
    return bars("Time of training steps, by PyTorch's", rows, lambda t: f"{t:.2f}", remark)


def start() -> str:
    """Import, and a whole short program whose programs were compiled before."""
    measured = _measured()
    rows = {name: measured[row] for row, name in START.items() if row in measured}
    remark = "Processor time of fresh processes on one core."
    return bars(
        "Seconds until a program has begun, and is done", rows, lambda t: f"{t:.1f} s", remark
    )


def main() -> int:
    """Writes the figures, or with ``--check`` returns 1 if one is stale."""
    stale = 0
    FOLDER.mkdir(exist_ok=True)
    for draw in (trace, tiers, speed, start):
        path = FOLDER / f"{draw.__name__}.svg"
        if not path.exists() or path.read_text() != draw():
            stale += 1
            if "--check" not in sys.argv:
                path.write_text(draw())
    return int("--check" in sys.argv and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
