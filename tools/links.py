"""Checks links to other sites: ``python -m tools.links`` asks for each address once, and lists
those that do not answer.

The tests need no network; they check the links within the site (``tests/project/test_site.py``).
"""

from __future__ import annotations

import argparse
import re
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\]\((https?://[^)\s]+)\)|<(https?://[^>\s]+)>")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def external(text: str) -> set[str]:
    """The addresses that a page's links lead to; those in code are no links."""
    return {(a or b).partition("#")[0] for a, b in _LINK.findall(_CODE.sub("", text))}


#: What a site says of a page that it does not have; anything else may be the way there, such as a
#: proxy that lets few sites through.
GONE = ("404", "410")


def problem(address: str, timeout: float) -> str:
    """Why an address does not answer; nothing if it does."""
    for method in ("HEAD", "GET"):  # some refuse the first
        request = urllib.request.Request(
            address, method=method, headers={"User-Agent": "Mozilla/5.0 (link check)"}
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout):
                return ""
        except urllib.error.HTTPError as error:
            why = f"{error.code} {error.reason}"
        except (urllib.error.URLError, TimeoutError, OSError) as error:
            return f"no answer: {getattr(error, 'reason', error)}"
    return why


def main(argv: list[str] | None = None) -> int:
    """Prints what is wrong; 1 if something is."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.links", description="Checks links to other sites."
    )
    parser.add_argument(
        "files", nargs="*", type=Path, help="pages (default: all of docs/, and those beside it)"
    )
    parser.add_argument(
        "--if-online",
        action="store_true",
        help="only pages that are gone are faults, and only if others answer",
    )
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds to wait for an answer")
    args = parser.parse_args(argv)
    files = args.files or [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks").glob("*.md"),
    ]
    where: dict[str, list[str]] = {}
    for file in files:
        for address in external(file.read_text()):
            where.setdefault(address, []).append(file.name)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda a: problem(a, args.timeout), where))
    wrong = {address: why for address, why in zip(where, found, strict=True) if why}
    for address, why in sorted(wrong.items()):
        print(f"{address}: {why} (in {', '.join(sorted(where[address]))})")
    print(f"{len(where) - len(wrong)} of {len(where)} addresses answered")
    if args.if_online and len(wrong) == len(where):
        print("no network: links to other sites were not checked")
        return 0
    return int(
        any(why.startswith(GONE) for why in wrong.values()) if args.if_online else bool(wrong)
    )


if __name__ == "__main__":
    sys.exit(main())
