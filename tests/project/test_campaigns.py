"""The command that runs all campaigns finds them, and sums up what they say; what they find is in
the tests of its subject."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.campaigns import _report
from tools.campaigns import all as campaigns


def test_every_module_is_a_campaign(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert {"saving", "checkpoints", "soak", "loaders"} <= set(campaigns.names())
    for name in ("__init__", "_report", "all", "b", "a"):
        (tmp_path / f"{name}.py").write_text("")
    monkeypatch.setattr(campaigns, "_HERE", tmp_path)
    assert campaigns.names() == ["a", "b"]


_CAMPAIGN = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--seconds", type=float)
parser.add_argument("--seed", type=int)
given = parser.parse_args()
print(f"it: {given.seed} tried, {FAILED} failed, {given.seconds > 0} s")
raise SystemExit(FAILED)
"""


@pytest.mark.parametrize(("failed", "status"), [(0, "passed"), (3, "FAILED with status 3")])
def test_what_they_say_is_summed_up(
    failed: int, status: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tools" / "campaigns").mkdir(parents=True)
    (tmp_path / "tools" / "campaigns" / "__init__.py").write_text("")
    (tmp_path / "tools" / "campaigns" / "it.py").write_text(
        _CAMPAIGN.replace("FAILED)", f"{failed})").replace("{FAILED}", str(failed))
    )
    monkeypatch.setattr(campaigns, "_ROOT", tmp_path)
    found = campaigns.run("it", 0.01, seed=7)
    assert (found.runs, found.tried, found.failed, found.status) == (1, 7, failed, status)
    assert f"| it | 1 | 7 | {failed} |" in campaigns.table([found])
    assert "FAILED" in campaigns.run("missing", 0.01, seed=7).status


def test_reports_end_when_they_shall(capsys: pytest.CaptureFixture[str]) -> None:
    report = _report.Report("it", 3, None)
    while report.goes_on():
        report.tried += 1
        report.seen["odd" if report.tried % 2 else "even"] += 1
    assert report.close() == 0
    assert capsys.readouterr().out == "it: 3 tried, 0 failed, 0 s (1 even, 2 odd)\n"
    assert not _report.Report("it", None, 0.0).goes_on()
    report.fail("the third")
    assert report.close() == 1
