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
            "_jtorch_native",
            [
                f"jtorch/_src/native/{name}.c"
                for name in (
                    "module",
                    "straight",
                    "draws",
                    "running",
                    "adding",
                    "rejection",
                    "sampling",
                )
            ],
            include_dirs=[numpy.get_include()],
            depends=["jtorch/_src/native/native.h"],
            # Products and sums are rounded as they are written; without -g the folder of the build
            # is not in the file.
            extra_compile_args=[]
            if sys.platform == "win32"
            else ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno"],
            optional=True,
        )
    ]

setup(ext_modules=extensions)
