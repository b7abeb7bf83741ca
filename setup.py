"""The extension that is built where there is a compiler; all else stands in ``pyproject.toml``."""

from __future__ import annotations

import sys

from setuptools import Extension, setup

try:
    import numpy
except ImportError:  # a build without isolation: the package works without the extension
    extensions = []
else:
    extensions = [
        Extension(
            "_jtorch_straight",
            ["jtorch/_src/engine/host/_straight.c"],
            include_dirs=[numpy.get_include()],
            extra_compile_args=[] if sys.platform == "win32" else ["-O2", "-g0"],
            optional=True,
        )
    ]

setup(ext_modules=extensions)
