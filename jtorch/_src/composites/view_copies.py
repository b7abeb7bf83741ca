"""The copying twins of view functions: ``x_copy`` gives what ``x`` gives, in memory of its own."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from ...autograd.names import named
from ...core import Tensor, from_value
from ..bind.bound import BOUND
from ..bind.cores import COMPOSITES, composite
from ..bind.everything import PUBLIC, M, T
from ..facts.dtypes import dtype as dtype_class
from ..ops._facts import schemas
from ..ops.views import VIEWS
from ..tensor import reshaping, views
from ..tensor.running import write_out


def _copied(name: str, view: Any, out: object, viewed: bool = True) -> Any:
    """A contiguous copy of a view, or ``out`` with it written in. The copy stands in the view's
    place in the graph."""
    if viewed and type(view) is Tensor and view._node is not None:
        node, value = view._node, view._read()
        made = from_value(value)
        made._node, made._nr, made._rg = node, view._nr, True
        if not node.name().endswith("copy"):
            node.label = "NarrowCopyBackward0" if name == "narrow_copy" else f"{node.name()}_copy"
    else:
        made = BOUND["clone"].core(view)
        made._strides = None
        if not viewed:
            named(made, "AliasBackward0_copy")
    return made if out is None else write_out(made, out, name, (view,))


def _each_copied(name: str, parts: tuple[Tensor, ...], out: list[Tensor] | None) -> object:
    """Copies of several views; what is given as ``out`` is written, and nothing returned."""
    made = tuple([_copied(name, part, None) for part in parts])
    if out is None:
        return made
    if len(out) != len(made):
        raise RuntimeError(
            f"{name}() expected an out= argument of size {len(made)}, got size {len(out)}"
        )
    for part, target in zip(made, out, strict=True):
        write_out(part, target, name)
    return None


@composite(operands=("input", "out"))
@schemas(".")
def alias_copy(input: Tensor, *, out: Any = None) -> Any:
    """A copy of the tensor.

    Shapes: that of ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.alias_copy(torch.tensor([1, 2]))
        tensor([1, 2])
    """
    return _copied("alias_copy", input, out, viewed=False)


@composite(operands=("input", "out"))
@schemas(".")
def detach_copy(input: Tensor, *, out: Any = None) -> Any:
    """A copy of the tensor without history.

    Shapes: that of ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.detach_copy(torch.ones(2, requires_grad=True)).requires_grad
        False
    """
    return _copied("detach_copy", T.detach(input), out)


@composite(operands=("input", "out"))
@schemas("(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor ; =out")
def expand_copy(
    input: Tensor, size: tuple[int, ...], *, implicit: bool = False, out: Any = None
) -> Any:
    """A copy of ``Tensor.expand``: repeated elements have memory of their own.

    Shapes: ``size``, where -1 keeps a size.

    Raises:
        RuntimeError: if ``input`` does not broadcast to it.

    Example:
        >>> import jtorch as torch
        >>> torch.expand_copy(torch.tensor([[1], [2]]), (2, 2))
        tensor([[1, 1],
                [2, 2]])
    """
    return _copied("expand_copy", M.expand(input, tuple(size), implicit=implicit), out)


@composite(method=True, operands=("input", "out"))
@schemas("(Tensor self, int dim, SymInt start, SymInt length) -> Tensor ; =out")
def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Any = None) -> Any:
    """A copy of ``narrow``: ``length`` elements of a dimension from ``start`` on.

    Shapes: that of ``input``, with size ``length`` in dimension ``dim``.

    Raises:
        IndexError, RuntimeError: if they are not all there.

    Example:
        >>> import jtorch as torch
        >>> torch.narrow_copy(torch.arange(4), 0, 1, 2)
        tensor([1, 2])
    """
    if input.dim() and dim >= input.dim():
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  "
            "(Could this error message be improved?  If so, please report an enhancement request "
            "to PyTorch.)"
        )
    return _copied("narrow_copy", T.narrow(input, dim, start, length), out)


@composite(operands=("input", "out"))
@schemas(
    ".Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> "
    "Tensor ; =Tensor_out"
)
def slice_copy(
    input: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Any = None,
) -> Any:
    """A copy of ``input[start:end:step]`` along a dimension.

    Shapes: that of ``input`` but for size ``dim``.

    Raises:
        RuntimeError: if ``step`` is not positive.
        IndexError: if the tensor has no dimension.

    Example:
        >>> import jtorch as torch
        >>> torch.slice_copy(torch.arange(6), 0, 1, 6, 2)
        tensor([1, 3, 5])
    """
    if not input.dim():
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return _copied("slice_copy", views._slice(input, dim, start, end, step), out)


@composite(operands=("input", "out"))
@schemas(
    "(Tensor self, SymInt[] size) -> Tensor ; =out",
    ".dtype(Tensor self, ScalarType dtype) -> Tensor ; =dtype_out",
)
def view_copy(
    input: Tensor,
    size: tuple[int, ...] | None = None,
    *,
    dtype: dtype_class | None = None,
    out: Any = None,
) -> Any:
    """A copy of ``Tensor.view``: another shape, or the same bytes as another dtype.

    Shapes: ``size``.

    Raises:
        RuntimeError: if the tensor's memory does not allow the view.

    Example:
        >>> import jtorch as torch
        >>> torch.view_copy(torch.arange(4), (2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    if isinstance(size, dtype_class):
        size, dtype = None, size
    if (size is None) == (dtype is None):
        raise TypeError(
            "view_copy() received an invalid combination of arguments: it takes either size or "
            "dtype"
        )
    # a copy has no memory whose strides could forbid the shape
    if size is not None and reshaping.viewed(input, tuple(size)) is None:
        input = input.contiguous()
    return _copied("view_copy", reshaping.view_(input, dtype if size is None else tuple(size)), out)


@composite(operands=("input",))
@schemas(
    ".Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
    ".Tensor_out(Tensor self, SymInt split_size, int dim=0, *, Tensor(a!)[] out) -> ()",
)
def split_copy(input: Tensor, split_size: int, dim: int = 0, *, out: Any = None) -> Any:
    """Copies of the parts that ``split`` gives; written to the tensors of ``out`` and not returned
    if that is given.

    Shapes: as ``split``.

    Raises:
        RuntimeError: as ``split``, or if ``out`` has another length.

    Example:
        >>> import jtorch as torch
        >>> torch.split_copy(torch.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
    """
    return _each_copied("split_copy_Tensor_out", T.split(input, split_size, dim), out)


# ---- derived from the views ----------------------------------------------------------------------


def _body_of(path: str) -> Callable[..., object]:
    """The declared body of a view, a function or a method."""
    if path in VIEWS:
        return VIEWS[path].op.body
    return next(c.body for c in COMPOSITES if c.path == path)


def _derive(
    path: str,
    example: str,
    shown: str,
    overloads: tuple[str, ...] = (".",),
    written: str | None = None,
) -> None:
    """Declares ``<view>_copy`` with the parameters, shapes and errors of the view ``path``;
    ``example`` has ``_`` for its name.

    ``overloads`` are those of its operator. ``written`` is what messages call the function that
    writes several parts, for a view that gives several.
    """
    view = _body_of(path)
    name = f"{path.rpartition('.')[2]}_copy"
    first, *rest = inspect.signature(view).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    params = [
        first.replace(name="input", annotation="Any"),
        *rest,
        inspect.Parameter("out", keyword, default=None, annotation="Any"),
    ]
    signature = inspect.Signature(params, return_annotation="Any")
    required = {p.name for p in params if p.default is p.empty}

    def copied(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        out = given.pop("out", None)
        while given and (last := next(reversed(given))) not in required:
            if given[last] is not signature.parameters[last].default:
                break
            del given[last]  # what is left out is not an explicit None
        found = PUBLIC[path](*given.values())
        return _copied(name, found, out) if written is None else _each_copied(written, found, out)

    what = (
        f"A copy of what ``{path}`` gives"
        if written is None
        else f"Copies of the parts that ``{path}`` gives"
    )
    more = (
        "."
        if written is None
        else "; written to the tensors of ``out`` and not returned if that is given."
    )
    _, _, sections = inspect.cleandoc(view.__doc__ or "").partition("\n\n")
    sections = sections.partition("Example:")[0].strip()
    lines = [f">>> torch.{example.replace('_', name, 1)}", *shown.split("\n")]
    text = "\n".join([">>> import jtorch as torch", *lines])
    copied.__doc__ = f"{what}{more}\n\n{sections}\n\nExample:\n{textwrap.indent(text, '    ')}\n"
    copied.__name__ = copied.__qualname__ = name
    copied.__signature__ = signature
    schemas(*overloads)(copied)
    composite(operands=("input", "out") if written is None else ("input",))(copied)


_CASES = [
    (
        "as_strided", "_(torch.arange(4), (2, 2), (1, 1))", "tensor([[0, 1],\n        [1, 2]])",
        (
            ("(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor "
             "; =out"),),
    ),
    ("diagonal", "_(torch.eye(2))", "tensor([1., 1.])"),
    ("permute", "_(torch.zeros(2, 3), (1, 0)).shape", "torch.Size([3, 2])"),
    (
        "select", "_(torch.tensor([[1, 2], [3, 4]]), 1, 0)", "tensor([1, 3])",
        (".int(Tensor self, int dim, SymInt index) -> Tensor ; =int_out",),
    ),
    (
        "squeeze", "_(torch.zeros(2, 1, 3)).shape", "torch.Size([2, 3])",
        (
            "(Tensor self) -> Tensor ; =out", ".dim(Tensor self, int dim) -> Tensor ; =dim_out",
            ".dims(Tensor self, int[] dim) -> Tensor ; =dims_out",
        ),
    ),
    ("t", "_(torch.tensor([[1, 2]]))", "tensor([[1],\n        [2]])"),
    ("transpose", "_(torch.zeros(2, 3), 0, 1).is_contiguous()", "True", (".int",)),
    ("Tensor.unfold", "_(torch.arange(4), 0, 2, 2)", "tensor([[0, 1],\n        [2, 3]])"),
    ("unsqueeze", "_(torch.tensor([1, 2]), 0)", "tensor([[1, 2]])"),
    ("view_as_complex", "_(torch.tensor([1.0, 2.0]))", "tensor(1.+2.j)"),
    ("view_as_real", "_(torch.tensor(1 + 2j))", "tensor([1., 2.])"),
    (
        "split_with_sizes", "_(torch.arange(3), [1, 2])", "(tensor([0]), tensor([1, 2]))",
        (
            "(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
            ".out(Tensor self, SymInt[] split_sizes, int dim=0, *, Tensor(a!)[] out) -> ()",
        ),
        "split_with_sizes_copy_out",
    ),
    (
        "unbind", "_(torch.tensor([[1, 2], [3, 4]]))", "(tensor([1, 2]), tensor([3, 4]))",
        (".int(Tensor self, int dim=0) -> Tensor[]",
         ".int_out(Tensor self, int dim=0, *, Tensor(a!)[] out) -> ()"),
        "unbind_copy_int_out",
    ),
    ("Tensor.indices", "_(torch.eye(2).to_sparse())", "tensor([[0, 1],\n        [0, 1]])"),
    ("Tensor.values", "_(torch.eye(2).to_sparse())", "tensor([1., 1.])"),
    ("Tensor.crow_indices", "_(torch.eye(2).to_sparse_csr())", "tensor([0, 1, 2])"),
    ("Tensor.col_indices", "_(torch.eye(2).to_sparse_csr())", "tensor([0, 1])"),
    ("Tensor.ccol_indices", "_(torch.eye(2).to_sparse_csc())", "tensor([0, 1, 2])"),
    ("Tensor.row_indices", "_(torch.eye(2).to_sparse_csc())", "tensor([0, 1])"),
]  # fmt: skip
for _case in _CASES:
    _derive(*_case)


# ---- the way back --------------------------------------------------------------------------------


@composite(method=True, operands=("input", "src"))
@schemas(
    "(Tensor(a) self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) "
    "-> Tensor(a)"
)
def slice_inverse(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """The tensor of ``src``'s shape of which ``input`` is the slice, as a view of ``input``'s
    memory.

    Shapes: that of ``src``.

    Raises:
        RuntimeError: if ``input``'s memory does not reach as far as ``src``'s shape.

    Example:
        >>> import jtorch as torch
        >>> x = torch.arange(4)
        >>> torch.slice_inverse(x[1:3], x, 0, 1, 3)
        tensor([0, 1, 2, 3])
    """
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    d = dim % max(src.dim(), 1)
    first = slice(start, end, step).indices(src.shape[d])[0]
    strides = tuple(s // step if i == d else s for i, s in enumerate(input.stride()))
    return T.as_strided(
        input, tuple(src.shape), strides, input.storage_offset() - first * strides[d]
    )
