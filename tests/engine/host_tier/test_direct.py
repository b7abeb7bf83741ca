"""SciPy's functions without the packages around them are SciPy's."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import PathFinder
from typing import Any

import numpy as np
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


#: The same for linear algebra, transforms, sums of rows and orders.
OTHERS = """
import sys
import numpy as np
from jtorch._src.engine.host import direct

rng = np.random.default_rng(0)
a = rng.normal(size=(4, 4))
letters = {"f": "s", "d": "d", "F": "c", "D": "z"}
found = {c: direct.routine("getrf", np.dtype(c)) for c in letters}
assert direct.routine("getrf", np.dtype("e")) is None
trsm = direct.routine("trsm", np.dtype("d"))
fft = direct.pocketfft()
table = rng.normal(size=(5, 3))
given = np.array([4, 0, 4, 1]), np.array([0, 3, 3, 4]), rng.normal(size=4)
digits = rng.integers(0, 7, 100).astype(np.int32)
rows, order = direct.weighted_rows()(table, *given), direct.sorted_by_digit()(digits, 7)
into = np.zeros(3)
direct.add_at()(into, np.array([2, 2]), np.array([1.0, 2.0]))
assert into.tolist() == [0, 0, 3]
loaded = [name for name in sys.modules if name.startswith("scipy.")]
assert not loaded, f"packages were loaded: {loaded}"

import scipy.fft, scipy.linalg, scipy.sparse

for c, routine in found.items():
    x = a.astype(c)
    its = getattr(scipy.linalg.lapack, letters[c] + "getrf")
    for one, other in zip(routine(x), its(x), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
lower = np.tril(a)
np.testing.assert_array_equal(
    trsm(1.0, lower, a, lower=1), scipy.linalg.blas.dtrsm(1.0, lower, a, lower=1), strict=True
)
np.testing.assert_array_equal(fft.r2c(a, (1,), True, 0, None, 1), scipy.fft.rfft(a), strict=True)
indices, ends, factors = given
matrix = scipy.sparse.csr_array((factors, indices, ends), shape=(3, 5))
np.testing.assert_array_equal(rows, matrix @ table, strict=True)
np.testing.assert_array_equal(order, np.argsort(digits, kind="stable"))
solved = scipy.linalg.solve(a, table[:4])  # the packages work as if nothing had been loaded
np.testing.assert_allclose(a @ solved, table[:4])
assert scipy.linalg._flapack is sys.modules["scipy.linalg._flapack"]
"""


@pytest.mark.parametrize("program", [PROGRAM, OTHERS])
def test_functions_without_their_packages(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("gone", [None, ImportError("it needs its package")])
def test_functions_where_the_module_is_not_to_be_had(
    gone: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import scipy.linalg
    import scipy.special

    def find(name: str, path: Any = None, target: Any = None) -> Any:
        if gone is not None:
            raise gone
        return None

    packages = "scipy.special", "scipy.linalg", "scipy.sparse"
    with monkeypatch.context() as patch:
        patch.setattr(PathFinder, "find_spec", find)
        for package in packages:
            patch.delitem(sys.modules, package, raising=False)
            assert direct.compiled.__wrapped__(f"{package}._some") is None
    with monkeypatch.context() as patch:
        patch.setattr(direct, "compiled", lambda name: None)
        assert direct.special.__wrapped__("erfi") is scipy.special.erfi
        double = np.dtype("d")
        assert direct.routine.__wrapped__("getrf", double) is scipy.linalg.lapack.dgetrf
        assert direct.routine.__wrapped__("trsm", double) is scipy.linalg.blas.dtrsm
        patch.setattr(direct, "_imported", lambda name: None)
        assert direct.add_at.__wrapped__() is None
        assert direct.add_rows.__wrapped__() is None
        table, digits = np.arange(6.0).reshape(3, 2), np.array([2, 0, 2, 1], np.int32)
        rows = direct.weighted_rows.__wrapped__()(
            table, np.array([2, 0]), np.array([0, 2]), np.array([1.0, 2.0])
        )
        assert rows.tolist() == [[4.0, 7.0]]
        assert direct.sorted_by_digit.__wrapped__()(digits, 3).tolist() == [1, 3, 0, 2]
