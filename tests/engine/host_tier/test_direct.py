"""SciPy's functions without the packages around them are SciPy's."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import PathFinder
from typing import Any

import pytest

from jtorch._src.engine.host import direct

#: A program with ``erf`` in it, which then looks at what that has loaded and imports the package.
PROGRAM = """
import sys
import numpy as np
from jtorch._src.engine.host.direct import special

found = special("erf"), special("gammaln")
assert found[0](np.float32(0.5)).dtype == np.float32
assert not any(name.startswith("scipy.special") for name in sys.modules), "the package was loaded"
import scipy.special

# SciPy may make its functions anew when the package is loaded
for dtype in (np.float32, np.float64):
    x = np.random.default_rng(0).normal(0, 3, 1000).astype(dtype)
    for one, other in zip(found, (scipy.special.erf, scipy.special.gammaln), strict=True):
        assert one.__name__ == other.__name__ and one.types == other.types, "others than SciPy's"
        np.testing.assert_array_equal(one(x), other(x), strict=True)
assert scipy.special._special_ufuncs is sys.modules["scipy.special._special_ufuncs"]
assert special("erfc") is scipy.special.erfc
assert special("zeta") is scipy.special.zeta, "from the module of C++, which has no such function"
"""


def test_special_functions_without_their_package() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("gone", [None, ImportError("it needs its package")])
def test_special_functions_where_the_module_is_not_to_be_had(
    gone: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import scipy.special

    def find(name: str, path: Any = None, target: Any = None) -> Any:
        if gone is not None:
            raise gone
        return None

    functions = direct._special_functions.__wrapped__
    with monkeypatch.context() as patch:
        patch.setattr(PathFinder, "find_spec", find)
        assert functions() is None
        patch.setattr(direct, "_special_functions", lambda: None)
        assert direct.special.__wrapped__("erfi") is scipy.special.erfi
