"""Writes ``docs/packages.md`` from runs of packages on jtorch: ``python -m tools.package_report
--site FOLDER --cold A --warm B ...``.

``--cold`` and ``--warm`` are results of programs with an empty cache and with the one that the cold
run left: lists of ``name, status, ratio, step_ratio``, the ratios being times in PyTorch's.
``--manifest`` tells which packages each program needs and what it does. ``--ours`` are two folders
with what ``tools.package_programs`` wrote for each program of ``tests/packages``, on PyTorch and on
jtorch; the first may be ``tests/packages/numbers``. ``--published`` are results of published
programs, lists of ``name, status, pytorch, cold, warm`` with seconds. ``--suites`` are results of
packages' own tests with an empty cache: lists of ``suite, passed, total, seconds, cpu, tests``;
``--suites-warm`` and ``--suites-pytorch`` those of the same tests with the cache that these left,
and on PyTorch, for their times. ``--specification`` tells the package of each suite. ``--site`` is
the folder of packages that the runs used, which tells the versions. Tables whose results are not
given stay as the page has them.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tools import package_programs

_HEAD = """\
# Packages that run on jtorch

Made by `python -m tools.package_report` from real runs. The packages are those of PyPI, \
unchanged; the programs ran under
`python -m jtorch`, and their numbers are compared with PyTorch's. Times are in PyTorch's: cold \
with an empty cache, so that everything is
compiled; warm with the cache that the cold run left; step for the median of the later steps of \
the warm run. What is empty was not
measured. PyTorch's times are those recorded with the programs, many of them a few tenths of a \
second; jtorch's were taken on two cores that
others used as well. So they tell orders of magnitude.

## Programs

| packages | what was run | result | cold | warm | step |
|---|---|---|---|---|---|
"""

_OURS = """
## Programs of the optional tests

Those of `tests/packages/programs`, which `.ci/packages` installs and runs: parts whose numbers \
are PyTorch's, and seconds in all, on jtorch
and on PyTorch.

| packages | what was run | parts | jtorch | PyTorch |
|---|---|---|---|---|
"""

_PUBLISHED = """
## Published programs

PyTorch's tutorials and examples, unchanged but for fewer rounds and stand-ins for data that they \
would download. What they print is
compared with what they print on PyTorch, times, memory and addresses left out. "First numbers \
alike" is said of trainings whose
numbers part in later steps, as they do when sums are taken in another order; this was not looked \
into one by one. Times are seconds of
processor time of the whole run, with the start of Python and imports, on PyTorch, on jtorch with \
an empty cache, and with the one that
the first run left. What is empty was not measured.

| program | printed | PyTorch | cold | warm |
|---|---|---|---|---|
"""

_SUITES = """
## The packages' own tests

Of the tests that pass with PyTorch, samples of what is named here; what did not pass is listed \
below with its reason. Times are seconds of
processor time of the whole run (the machine was shared, so wall time tells little), with the \
start of Python, imports and collection: on
PyTorch, on jtorch with an empty cache, and with the one that the first run left. What is empty \
was not measured.

| package | suite | passed | PyTorch | cold | warm |
|---|---|---|---|---|---|
"""


def versions(sites: Iterable[str]) -> dict[str, str]:
    """Name of a distribution, in lower case and with dashes -> its version."""
    found = importlib.metadata.distributions(path=list(sites))
    return {_key(d.metadata["Name"]): d.version for d in found if d.metadata["Name"]}


def _key(name: str) -> str:
    return name.lower().replace("_", "-")


def _package(name: str, known: dict[str, str]) -> str:
    version = known.get(_key(name))
    return f"{name} {version}" if version else name


def _factor(result: dict[str, Any], key: str) -> str:
    return f"{result[key]:.1f}" if key in result else ""


def programs(
    cold: list[Any], warm: list[Any], manifest: list[Any], known: dict[str, str]
) -> list[str]:
    """The rows of the first table, by program."""
    about = {entry["name"]: entry for entry in manifest}
    later = {result["name"]: result for result in warm}
    rows = []
    for result in sorted(cold, key=lambda r: r["name"]):
        name = result["name"]
        entry, second = about[name], later.get(name, {})
        result_text = (
            result["status"]
            if result["status"] == "match"
            else f"{result['status']}: {result.get('error', '')}"
        )
        cells = [
            ", ".join(_package(p, known) for p in entry["needs"]),
            entry["about"].rstrip("."),
            result_text,
            _factor(result, "ratio"),
            _factor(second, "ratio"),
            _factor(second, "step_ratio"),
        ]
        rows.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return rows


def ours(folders: Sequence[str]) -> list[str]:
    """The rows of the table of the optional tests' programs: those whose results lie in both
    folders."""
    rows = []
    for name in package_programs.names():
        files = [Path(folder) / f"{name}.json" for folder in folders]
        if not all(file.exists() for file in files):
            continue
        expected, given = (json.loads(file.read_text()) for file in files)
        apart = package_programs.differences(expected, given)
        other = [part for part, found in apart.items() if found]
        packages = ", ".join(
            f"{package} {version}"
            for package, version in given["versions"].items()
            if package != "torch"
        )
        alike = f"{len(apart) - len(other)} of {len(apart)}" + (
            f", not {', '.join(other)}" if other else ""
        )
        seconds = [f"{sum(result['seconds'].values()):.0f}" for result in (given, expected)]
        what = " ".join(package_programs.about(name)[1].split()).rstrip(".")
        rows.append(
            f"| {' | '.join(cell.replace('|', '/') for cell in (packages, what, alike, *seconds))} "
            "|"
        )
    return rows


def suites(
    results: list[Any],
    warm: list[Any],
    pytorch: list[Any],
    specification: dict[str, Any],
    known: dict[str, str],
) -> list[str]:
    """The rows of the third table, and the reasons of what did not pass. Times are compared where
    the same tests were run."""
    of = {entry["name"]: entry for entry in specification["suites"]}
    beside = [{result["suite"]: result for result in others} for others in (pytorch, results, warm)]
    rows, reasons = [], []
    for result in sorted(results, key=lambda r: r["suite"]):
        entry = of[result["suite"]]
        package = (
            _package(entry["package"], known)
            if _key(entry["package"]) in known
            else f"{entry['package']} {entry['version']}"
        )
        runs = [others.get(result["suite"]) for others in beside]
        times = [
            f"{run['cpu']:.0f}"
            if run and "cpu" in run and set(run["tests"]) == set(result["tests"])
            else ""
            for run in runs
        ]
        rows.append(
            f"| {package} | {result['suite']} | {result['passed']} of {result['total']} | "
            f"{' | '.join(times)} |"
        )
        there = beside[0].get(result["suite"], {"tests": {}})["tests"]
        why: Counter[str] = Counter()
        for name, test in result["tests"].items():
            if test["outcome"] != "passed":
                also = (
                    " (on PyTorch too, in that run)"
                    if there.get(name, test)["outcome"] != "passed" and name in there
                    else ""
                )
                why[
                    f"`{str(test.get('reason', test['outcome'])).splitlines()[0][:160]}`{also}"
                ] += 1
        reasons += [
            f"- {result['suite']}: {count} of {reason}" for reason, count in why.most_common(8)
        ]
    return [*rows, "", *reasons]


def published(results: list[Any]) -> list[str]:
    """The rows of the table of published programs."""
    return [
        f"| {result['name']} | {result['status'].replace('|', '/')} | "
        f"{' | '.join(_seconds(result, key) for key in ('pytorch', 'cold', 'warm'))} |"
        for result in sorted(results, key=lambda r: r["name"])
    ]


def _seconds(result: dict[str, Any], key: str) -> str:
    return f"{result[key]:.1f}" if key in result else ""


def page(options: argparse.Namespace, before: str = "") -> str:
    """The page's text; ``before`` is what it was, for the tables whose results are not given."""
    known = versions(options.site)
    tables = {}
    if options.cold:
        tables[_HEAD] = programs(
            _all(options.cold), _all(options.warm), _all([options.manifest]), known
        )
    if options.ours:
        tables[_OURS] = ours(options.ours)
    if options.published:
        tables[_PUBLISHED] = published(_all([options.published]))
    if options.suites:
        specification = json.loads(Path(options.specification).read_text())
        tables[_SUITES] = suites(
            *map(_all, (options.suites, options.suites_warm, options.suites_pytorch)),
            specification,
            known,
        )
    return "".join(
        head + "\n".join(tables[head]).rstrip() + "\n" if head in tables else _kept(before, head)
        for head in (_HEAD, _OURS, _PUBLISHED, _SUITES)
    )


def _kept(before: str, head: str) -> str:
    """The part of a page that begins with a table's head; nothing if there is none."""
    begin = before.find(head)
    if begin < 0:
        return ""
    ends = [before.find(other, begin + len(head)) for other in (_OURS, _PUBLISHED, _SUITES)]
    return before[begin : min((end for end in ends if end >= 0), default=len(before))]


def _all(files: Sequence[str]) -> list[Any]:
    """The results in several files; of one name the last."""
    found: dict[str, Any] = {}
    for file in files:
        for result in json.loads(Path(file).read_text()):
            found[result.get("name") or result["suite"]] = result
    return list(found.values())


def main(argv: list[str] | None = None) -> int:
    """Writes the page."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.package_report", description=__doc__.partition("\n\n")[0]
    )
    parser.add_argument("--site", nargs="*", default=[])
    parser.add_argument("--cold", nargs="*", default=[])
    parser.add_argument("--warm", nargs="*", default=[])
    parser.add_argument("--manifest")
    parser.add_argument("--ours", nargs=2, metavar=("PYTORCH", "JTORCH"))
    parser.add_argument("--published")
    parser.add_argument("--suites", nargs="*", default=[])
    parser.add_argument("--suites-warm", nargs="*", default=[])
    parser.add_argument("--suites-pytorch", nargs="*", default=[])
    parser.add_argument("--specification")
    parser.add_argument("--to", type=Path, default=Path("docs/packages.md"))
    options = parser.parse_args(argv)
    options.to.write_text(page(options, options.to.read_text() if options.to.exists() else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
