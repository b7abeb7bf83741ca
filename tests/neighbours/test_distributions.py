"""``pkg_resources`` knows the distribution torch where ``import torch`` means jtorch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jtorch

#: What this is made of where setuptools has it, which newer ones do not.
MODULE = """
class Distribution:
    def __init__(self, location, project_name, version):
        self.location, self.project_name, self.version = location, project_name, version

class WorkingSet:
    known = {"torch": "the one in the folders"}

    def add(self, found, entry=None, insert=True, replace=False):
        if replace or found.project_name not in self.known:
            self.known[found.project_name] = found

working_set = WorkingSet()
"""


def test_pkg_resources_finds_torch(tmp_path: Path) -> None:
    (tmp_path / "pkg_resources.py").write_text(MODULE)
    code = (
        "import pkg_resources as p, os; t = p.working_set.known['torch']; print(t.version, "
        "os.path.isdir(t.location + '/jtorch'))"
    )
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(jtorch.__file__).parents[1])]),
    }
    r = subprocess.run(
        [sys.executable, "-m", "jtorch", "-c", code],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (r.stderr, r.stdout.split()) == ("", [jtorch.__version__, "True"])
