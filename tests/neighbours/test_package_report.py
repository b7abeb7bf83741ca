"""The page about packages is made of the results of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools import package_report


def test_the_page(tmp_path: Path) -> None:
    def file(name: str, content: Any) -> str:
        (tmp_path / name).write_text(json.dumps(content))
        return str(tmp_path / name)

    (tmp_path / "some_thing-1.2.dist-info").mkdir()
    (tmp_path / "some_thing-1.2.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: some_thing\nVersion: 1.2\n"
    )
    cold = [
        {"name": "b", "status": "match", "ratio": 12.34, "step_ratio": 3.0},
        {"name": "a", "status": "error", "error": "x | y"},
    ]
    manifest = [
        {"name": "a", "needs": ["other"], "about": "A."},
        {"name": "b", "needs": ["some-thing"], "about": "B."},
    ]
    tests = {"t1": {"outcome": "passed"}, "t2": {"outcome": "failed", "reason": "no such\nthing"}}
    suites = [{"suite": "s", "passed": 1, "total": 2, "seconds": 9.9, "cpu": 3.2, "tests": tests}]
    warm, others = (
        {**suites[0], "cpu": 2.4},
        {**suites[0], "cpu": 1.0, "tests": {"t2": {"outcome": "failed"}}},
    )
    arguments = {
        "--site": str(tmp_path),
        "--cold": file("cold.json", cold),
        "--warm": file(
            "warm.json", [{"name": "b", "status": "match", "ratio": 1.0, "step_ratio": 0.5}]
        ),
        "--manifest": file("manifest.json", manifest),
        "--suites": file("suites.json", suites),
        "--suites-warm": file("suites_warm.json", [warm]),
        # of other tests: their time says nothing
        "--suites-pytorch": file("suites_pytorch.json", [others]),
        "--specification": file(
            "specification.json", {"suites": [{"name": "s", "package": "other", "version": "7"}]}
        ),
        "--published": file(
            "published.json",
            [{"name": "fx/invert.py", "status": "alike", "pytorch": 4.46, "cold": 4.6}],
        ),
        "--to": str(tmp_path / "page.md"),
    }
    assert package_report.main([part for pair in arguments.items() for part in pair]) == 0
    lines = (tmp_path / "page.md").read_text().splitlines()
    assert "| other | A | error: x / y |  |  |  |" in lines
    assert "| fx/invert.py | alike | 4.5 | 4.6 |  |" in lines
    assert "| some-thing 1.2 | B | match | 12.3 | 1.0 | 0.5 |" in lines
    assert (
        "| other 7 | s | 1 of 2 |  | 3 | 2 |" in lines
        and "- s: 1 of `no such` (on PyTorch too, in that run)" in lines
    )

    # Another run of one table leaves the others alone.
    results = {}
    for name, second in (("torch", 2.0), ("jtorch", 2.5)):
        (tmp_path / name).mkdir()
        result = {
            "versions": {"torch": "2.13.0", "ignite": "0.5"},
            "seconds": {"a": 1.0, "b": 2.0},
            "parts": {"a": [1.0], "b": second},
        }
        (tmp_path / name / "ignite.json").write_text(json.dumps(result))
        results[name] = str(tmp_path / name)
    for _ in range(2):
        assert (
            package_report.main(
                ["--ours", results["torch"], results["jtorch"], "--to", str(tmp_path / "page.md")]
            )
            == 0
        )
        after = (tmp_path / "page.md").read_text().splitlines()
        assert [
            line
            for line in after
            if line.startswith("| ignite 0.5 | Ignite: engines")
            and line.endswith("| 1 of 2, not b | 3 | 3 |")
        ]
        kept = [line for line in lines if line and not line.startswith("|---")]
        assert [line for line in after if line in set(kept)] == kept
        assert after.count("## Programs of the optional tests") == 1
