"""Checks the wheel: two builds, from copies that lie elsewhere and whose files have other times,
are the same to the byte and complete.

    python tools/wheels.py [--out FOLDER]

Needs setuptools of the version that ``pyproject.toml`` names, and no network. ``--out`` keeps the
wheel.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What no import would miss: stubs, the mark of typed packages, and what was generated.
HELD = (
    "jtorch/py.typed", "jtorch/__init__.pyi", "jtorch/core.pyi", "jtorch/_src/aten/schemas.txt",
    "jtorch/_decomp/by_kernel.txt",
)  # fmt: skip
#: The first moment that an entry of a zip file can have, and 2024.
_TIMES = (315_619_200, 1_704_067_200)


def sources() -> list[str]:
    """The files that a wheel is built of: the package's, without what Python and other builds leave
    there."""
    package = [
        path
        for path in sorted((ROOT / "jtorch").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    return [
        *(path.relative_to(ROOT).as_posix() for path in package),
        "pyproject.toml",
        "setup.py",
        "README.md",
        "LICENSE",
    ]


def build(folder: Path, files: list[str], time: int) -> Path:
    """The wheel of a copy of the files in ``folder``, all of which were changed at ``time``."""
    copy = folder / f"copy{time}"
    for name in files:
        made = copy / name
        made.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, made)
        os.utime(made, (time, time))
    out = folder / f"wheel{time}"
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet",
               "--no-deps", "--no-build-isolation",
               "--no-index", "--wheel-dir", str(out), str(copy)]  # fmt: skip
    subprocess.run(command, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": str(_TIMES[-1])})
    (wheel,) = out.glob("*.whl")
    return wheel


def missing(wheel: Path, files: list[str]) -> list[str]:
    """What a wheel lacks of the package's modules and stubs, and of what must be in it."""
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    return sorted(
        {
            name for name in files if name.startswith("jtorch/") and name.endswith((".py", ".pyi"))
        }.union(HELD)
        - held
    )


def main() -> int:
    """Builds, compares, and says what was found."""
    parser = argparse.ArgumentParser(
        description="Checks that two builds of the wheel are the same and complete."
    )
    parser.add_argument("--out", type=Path, help="where to put the wheel")
    out = parser.parse_args().out
    files = sources()
    with tempfile.TemporaryDirectory() as place:
        with ThreadPoolExecutor(len(_TIMES)) as pool:
            wheels = list(pool.map(lambda time: build(Path(place), files, time), _TIMES))
        digests = [hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels]
        lacking = missing(wheels[0], files)
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            shutil.copy(wheels[0], out)
        print(f"{wheels[0].name} {digests[0]}")
    if digests[0] != digests[1]:
        print(f"another build of the same files differs: {digests[1]}", file=sys.stderr)
    if lacking:
        print(f"not in the wheel: {', '.join(lacking)}", file=sys.stderr)
    return int(digests[0] != digests[1] or bool(lacking))


if __name__ == "__main__":
    sys.exit(main())
