"""How long does ``import jtorch`` take, in a fresh interpreter?"""

from __future__ import annotations


class Import:
    def timeraw_import_jtorch(self) -> str:
        return "import jtorch"

    def timeraw_import_jax(self) -> str:
        return "import jax, jax.numpy"
