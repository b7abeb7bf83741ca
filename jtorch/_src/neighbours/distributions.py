"""``pkg_resources`` looks for distributions in folders, where there is none that is named torch: it
is told of it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from jtorch import version


def adapt(module: ModuleType) -> None:
    """Enters torch among the distributions that the module knows, as ``importlib.metadata`` finds
    it."""
    found = module.Distribution(
        location=str(Path(version.__file__).parents[1]),
        project_name="torch",
        version=version.__version__,
    )
    module.working_set.add(found, replace=True)
