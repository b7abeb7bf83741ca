"""Read when Python starts in processes of a program under ``python -m jtorch``: ``import torch``
means jtorch there as well.

Does nothing in another Python than the program's, which may have no JAX, or a PyTorch of its own;
so it is written for old ones too. The ``sitecustomize`` that would have been read without this one
is read after it.
"""

import os
import sys

#: The packages that something of jtorch stands for, or that it adapts (``start/install.py``).
_ASKED = (
    "torch", "functorch", "torchgen", "jtorch", "safetensors", "torchvision", "torchaudio",
    "lightning", "lightning_fabric", "pkg_resources",
)  # fmt: skip
_HERE = os.path.dirname(os.path.abspath(__file__))
_START = os.path.dirname(_HERE)


class _Awaiting:
    """Stands in for the finder of ``start/install.py`` until it is asked: processes that never do
    load nothing."""

    def _finder(self):
        import importlib.util

        sys.meta_path.remove(self)
        root = os.path.dirname(os.path.dirname(os.path.dirname(_START)))
        if importlib.util.find_spec("jtorch") is None:  # the program found it in its own folder
            sys.path.append(root)
        spec = importlib.util.spec_from_file_location(
            "_jtorch_install", os.path.join(_START, "install.py")
        )
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.install()
        return sys.meta_path[0]

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] in _ASKED:
            return self._finder().find_spec(fullname, path, target)
        return None

    def find_distributions(self, context=None):
        name = getattr(context, "name", None)
        if name is None or name.lower() == "torch":
            return self._finder().find_distributions(context)
        return ()


def _read_the_next() -> None:
    """Reads the module of this name that comes later on the path."""
    sys.path[:] = [part for part in sys.path if os.path.abspath(part) != _HERE]
    this = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", this)


if os.environ.get("JTORCH_CHILDREN") == sys.prefix:
    sys.meta_path.insert(0, _Awaiting())
_read_the_next()
