"""Public functions have docstrings that show an example and say what comes out: its shapes, or what it is."""

from __future__ import annotations

import inspect
import re

import jtorch
from jtorch import _not_offered
from jtorch.binding import COMPOSITES
from jtorch.functional import PUBLIC
from jtorch.ops._declare import OPS

#: Functions that nothing comes out of.
RETURN_NOTHING = frozenset(
    """Tensor.__setstate__ Tensor._clear_non_serializable_cached_data Tensor._fix_weakref Tensor.backward
    Tensor.record_stream Tensor.retain_grad _assert sym_constrain_range""".split()
)

#: In-place forms, made of another function, which their docstring names.
_INPLACE = re.compile(
    r"In-place form of ``\w+``\.\n\n\s*"
    r"(?:The result of ``torch\.([\w.]+)``, where|The tensor becomes the view of its memory that ``([\w.]+)`` gives, where)"
)
#: Functions that PyTorch has removed, or that are refused here.
_REFUSES = re.compile(r"Raises:\s+\w+: always")
_SECTION = re.compile(r"^\s*(Shapes|Returns): *\S", re.MULTILINE)
#: How a first sentence begins that names the result and is no order to the tensor.
_NAMED = re.compile(r"(``|The |An? |Whether |How many |Each |All |One |What |True|False|Copies |Views |Tensors? )")


def _names_result(path: str, doc: str) -> bool:
    if _SECTION.search(doc):
        return True
    if path in OPS:  # the result of a kernel is a tensor, which has a shape
        return False
    last = path.rpartition(".")[2]
    return _NAMED.match(doc.strip()) is not None or (last.endswith("_") and not last.endswith("__"))


def _written() -> dict[str, str]:
    """The docstrings that were written for one function, by that of the kernel or the shortest of the paths that share them."""
    shortest: dict[str, str] = {}
    for path in sorted(PUBLIC, key=lambda p: (p not in OPS, len(p), p), reverse=True):
        doc = PUBLIC[path].__doc__ or ""
        if not _INPLACE.match(doc) and not _REFUSES.search(doc):
            shortest[doc or path] = path
    return {path: PUBLIC[path].__doc__ or "" for path in shortest.values()}


WRITTEN = _written()


def test_there_is_an_example() -> None:
    assert sorted(path for path, doc in WRITTEN.items() if ">>>" not in doc) == []


def test_it_is_said_what_comes_out() -> None:
    silent = {path for path, doc in WRITTEN.items() if not _names_result(path, doc)}
    assert sorted(silent - RETURN_NOTHING) == []
    assert sorted(RETURN_NOTHING - silent) == []


def test_kernels_say_what_dtypes_they_take() -> None:
    assert sorted(path for path, doc in WRITTEN.items() if path in OPS and "Dtypes: " not in doc) == []


def test_no_declaration_escapes() -> None:
    """What is declared public is found under its path, so that the tests above have seen it."""
    for declared in (*OPS.values(), *COMPOSITES):
        path = declared.name if declared.namespace == "torch" else f"{declared.namespace}.{declared.name}"
        assert declared.namespace == "_C" or path in PUBLIC, path
    assert len(WRITTEN) > 900


def test_inplace_forms_name_the_function_that_they_are_made_of() -> None:
    sources = {path: match[1] or match[2] for path, made in PUBLIC.items() if (match := _INPLACE.match(made.__doc__ or ""))}
    assert len(sources) > 100
    for path, source in sources.items():
        assert source in PUBLIC and source not in sources, path


def test_only_what_is_refused_says_that_it_always_raises() -> None:
    always = {path for path, made in PUBLIC.items() if _REFUSES.search(made.__doc__ or "")}
    assert set(_not_offered.public()) <= always
    for path in always:
        first = (PUBLIC[path].__doc__ or "").split(maxsplit=1)[0]
        assert first in ("Not", "Removed:", "Elements"), path


def test_methods_show_the_docstring_of_the_function() -> None:
    assert ">>> torch.sqrt(" in (jtorch.sqrt.__doc__ or "")
    assert jtorch.Tensor.sqrt.__doc__ == jtorch.sqrt.__doc__


def _classes() -> list[type]:
    from jtorch import nn, optim
    from jtorch.optim import lr_scheduler
    from jtorch.utils.data import DataLoader

    found = [DataLoader]
    for space, base in ((nn, nn.Module), (optim, optim.Optimizer), (lr_scheduler, lr_scheduler.LRScheduler)):
        members = [getattr(space, name) for name in dir(space) if not name.startswith("_")]
        found += [kind for kind in members if isinstance(kind, type) and issubclass(kind, base)]
    return sorted(set(found), key=lambda kind: kind.__name__)


def _described(doc: str) -> set[str]:
    """The names that the section of arguments of a docstring has something to say about."""
    section = re.search(r"^( *)Args:\n((?:\1 +.*\n?)+)", inspect.cleandoc(doc), re.MULTILINE)
    entries = re.findall(r"^    ([\w*][\w*, ]*): +\S.{3,}", section[2] if section else "", re.MULTILINE)
    return {name.strip("* ") for entry in entries for name in entry.split(",")}


def test_classes_describe_every_argument() -> None:
    silent = {}
    for kind in _classes():
        arguments = list(inspect.signature(kind.__init__).parameters)[1:]
        if missing := set(arguments) - _described(kind.__dict__.get("__doc__") or ""):
            silent[kind.__name__] = sorted(missing)
    assert silent == {}
    assert len(_classes()) > 180


def test_no_argument_is_described_that_is_not_there() -> None:
    invented = {}
    for kind in _classes():
        arguments = set(inspect.signature(kind.__init__).parameters)
        if extra := _described(kind.__doc__ or "") - arguments:
            invented[kind.__name__] = sorted(extra)
    assert invented == {}


def test_help_says_what_a_tensor_is() -> None:
    assert {"dtype", "shape", "device", "requires_grad", "recorded"} <= set(re.findall(r"\w+", jtorch.Tensor.__doc__ or ""))
    assert "_v" not in (jtorch.Tensor.__doc__ or "")
