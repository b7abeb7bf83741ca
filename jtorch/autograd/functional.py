"""Jacobians, Hessians and products with them, of functions of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jtorch
from jtorch import Tensor

from .._src.protocol.recorded import apart
from ..core import requiring
from .engine import grad as tape_grad
from .grad_mode import MODE, enable_grad
from .jacobians import keeps_elsewhere

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Operand, Operands, Row, Tree


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _as_tuple(
    given: tuple[Tensor | int, ...] | Tensor,
    argument: str | None = None,
    function: str | None = None,
) -> tuple[bool, Row]:
    """Whether several tensors were given, and a tuple of them.

    Raises:
        TypeError: if something else was given.
    """
    several = isinstance(given, tuple)
    if not several:
        given = (given,)
    for i, t in enumerate(given):
        if not isinstance(t, Tensor):
            if several:
                raise TypeError(
                    f"The {argument} given to {function} must be either a Tensor or a tuple of "
                    f"Tensors but the value at index {i} has type {type(t)}."
                )
            raise TypeError(
                f"The {argument} given to {function} must be either a Tensor or a tuple of Tensors "
                f"but the given {argument} has type {type(t)}."
            )
    return several, given


def _owned(inputs: Sequence[Tensor], create_graph: bool, need_graph: bool) -> tuple[Tensor, ...]:
    """Inputs of our own: views of the caller's where a graph is to reach these, else without
    history."""
    return tuple(
        [
            t.view_as(t)
            if create_graph and t.requires_grad
            else t.detach().requires_grad_(need_graph)
            for t in inputs
        ]
    )


def _grad_postprocess(tree: Tree, create_graph: bool) -> Tree:
    if isinstance(tree, tuple):
        return tuple([_grad_postprocess(t, create_graph) for t in tree])
    if isinstance(tree, list):
        return [_grad_postprocess(t, create_graph) for t in tree]
    return tree if create_graph else tree.detach()


def _tuple_postprocess(res: Any, to_unpack: bool) -> object:
    """The results as the caller gave what they belong to: one by itself. Two answers tell so of the
    rows and of what is in them."""
    if not isinstance(to_unpack, tuple):
        return _one_or_all(res, to_unpack)
    rows, columns = to_unpack
    return _one_or_all(res if columns else tuple([row[0] for row in res]), rows)


def _one_or_all(found: tuple[object, ...], several: bool) -> object:
    return found if several else found[0]


def _directions(
    v: tuple[Tensor, ...] | Tensor, like: Sequence[Tensor], several: bool, function: str
) -> tuple[Operand, ...]:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            what = (
                "user-provided function returns"
                if function == "vjp"
                else "input to the user-provided function is"
            )
            raise RuntimeError(
                f"The vector v can only be None if the {what} a single Tensor with a single "
                "element."
            )
        return (jtorch.ones_like(like[0]),)
    _, found = _as_tuple(v, "v", function)
    if len(found) != len(like):
        if several:
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(found)}."
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(found, like, strict=True)):
        if a.shape != b.shape:
            prefix = f"Entry {i} in " if several else ""
            raise RuntimeError(
                f"{prefix}v has invalid size: should be {b.shape} but got {a.shape}."
            )
    return tuple([t.detach() if not t.requires_grad else t for t in found])


def _grad(
    outputs: Operands, inputs: Sequence[object], vectors: Tree, create_graph: bool
) -> tuple[Operand, ...]:
    """``grad`` that gives None where an output has no history."""
    vectors = [None] * len(outputs) if vectors is None else vectors
    there = [
        (o, v) for o, v in zip(outputs, vectors, strict=True) if o is not None and o.requires_grad
    ]
    if not there:
        return (None,) * len(inputs)
    outs, given = [o for o, _ in there], [v for _, v in there]
    return tape_grad(
        outs, list(inputs), given, retain_graph=True, create_graph=create_graph, allow_unused=True
    )


def _need_history(outputs: Operands, what: str, strict: bool) -> None:
    if not strict:
        return
    for i, o in enumerate(outputs):
        if not o.requires_grad:
            if what == "jacobian":
                raise RuntimeError(
                    "While computing the hessian, found that the jacobian of the user-provided "
                    f"function with respect to input {i} is independent of the input. This is not "
                    "allowed in strict mode. You should ensure that your function is twice "
                    "differentiable and that the jacobian depends on the inputs (this would be "
                    "violated by a linear function for example)."
                )
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs "
                "must be computed in a differentiable manner from the input when running in strict "
                "mode."
            )


def _filled(
    grads: Sequence[Tensor],
    refs: Sequence[Tensor],
    strict: bool,
    stage: str,
    create_graph: bool = False,
) -> tuple[Tensor, ...]:
    """Zeros for missing gradients.

    Raises:
        RuntimeError: in strict mode.
    """
    found = []
    for i, (g, r) in enumerate(zip(grads, refs, strict=True)):
        if g is None:
            if strict:
                if stage == "double_back_trick":
                    raise RuntimeError(
                        f"The gradient with respect to the input is independent of entry {i} in "
                        "the grad_outputs when using the double backward trick to compute forward "
                        "mode gradients. This is not allowed in strict mode."
                    )
                if stage == "double_back":
                    raise RuntimeError(
                        f"The jacobian of the user-provided function is independent of input {i}. "
                        "This is not allowed in strict mode."
                    )
                raise RuntimeError(
                    f"The output of the user-provided function is independent of input {i}. This "
                    "is not allowed in strict mode."
                )
            g = jtorch.zeros_like(r)
        elif strict and create_graph and not g.requires_grad:
            what = "hessian" if "double" in stage and stage != "double_back_trick" else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. This is "
                "not allowed in strict mode when create_graph=True."
            )
        found.append(g)
    return tuple(found)


@apart("torch.autograd.functional.vjp")
def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """``func(*inputs)``, and the product of ``v`` with its Jacobian.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0, 2.0])
        >>> torch.autograd.functional.vjp(lambda x: x * x, x, torch.tensor([1.0, 10.0]))
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        several, given = _as_tuple(inputs, "inputs", "vjp")
        own = _owned(given, create_graph, True)
        outs_several, outputs = _as_tuple(
            func(*own), "outputs of the user-provided function", "vjp"
        )
        _need_history(outputs, "outputs", strict)
        vectors = _directions(v, outputs, outs_several, "vjp")
    with jtorch.set_grad_enabled(create_graph or MODE.enabled):
        found = _filled(
            _grad(outputs, own, vectors, create_graph), own, strict, "back", create_graph
        )
    return _one_or_all(_grad_postprocess(outputs, create_graph), outs_several), _one_or_all(
        _grad_postprocess(found, create_graph), several
    )


@apart("torch.autograd.functional.jvp")
def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """``func(*inputs)``, and the product of its Jacobian with ``v``: the derivative of ``vjp`` in
    its vector.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0, 2.0])
        >>> torch.autograd.functional.jvp(lambda x: x * x, x, torch.tensor([1.0, 10.0]))
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        several, given = _as_tuple(inputs, "inputs", "jvp")
        own = _owned(given, create_graph, True)
        vectors = _directions(v, own, several, "jvp")
        outs_several, outputs = _as_tuple(
            func(*own), "outputs of the user-provided function", "jvp"
        )
        _need_history(outputs, "outputs", strict)
        slots = [jtorch.zeros_like(o, requires_grad=True) for o in outputs]
        back = _filled(_grad(outputs, own, slots, True), own, strict, "back")
        _need_history(back, "outputs", strict)
    with jtorch.set_grad_enabled(create_graph or MODE.enabled):
        found = _filled(
            _grad(back, slots, vectors, create_graph),
            outputs,
            strict,
            "double_back_trick",
            create_graph,
        )
    outputs, found = (_grad_postprocess(tree, create_graph) for tree in (outputs, found))
    return _one_or_all(outputs, outs_several), _one_or_all(found, outs_several)


@apart("torch.autograd.functional.jacobian")
def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func``: a tensor of the output's shape followed by the input's, or tuples
    of them, outputs first.

    Args:
        vectorize: walk back (or forward) once with all directions, by ``vmap``, instead of once for
            each.
        strategy: ``"reverse-mode"``, or ``"forward-mode"``, which needs ``vectorize``.

    Raises:
        RuntimeError: in ``strict`` mode, if an output is independent of an input.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0, 2.0])
        >>> torch.autograd.functional.jacobian(lambda x: x * x, x)
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                "torch.autograd.functional.jacobian: `create_graph=True` and "
                '`strategy="forward-mode"` are not supported together (yet). Please either set '
                '`create_graph=False` or `strategy="reverse-mode"`.'
            )
        if strict:
            raise RuntimeError(
                'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` '
                "are not supported together (yet). Please either set `strict=False` or "
                '`strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
                "implemented for `vectorize=True`."
            )
    with enable_grad():
        several, given = _as_tuple(inputs, "inputs", "jacobian")
        own = _owned(given, create_graph, True)
        if vectorize and strict:
            _need_history(
                _as_tuple(func(*own), "outputs of the user-provided function", "jacobian")[1],
                "outputs",
                strict,
            )
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                "supported together. Please either set `strict=False` or `vectorize=False`."
            )
        # Transformations give the function plain tensors, so one of subclasses gets these
        # themselves, and the way back is batched. What one operator after the other sees cannot be
        # batched underneath: wrappers are walked to row by row.
        if vectorize and all(type(x) is Tensor or x.layout is not jtorch.strided for x in own):
            found, outs_several = _vectorized(func, own, create_graph, strategy)
        else:
            outs_several, outputs = _as_tuple(
                func(*own), "outputs of the user-provided function", "jacobian"
            )
            _need_history(outputs, "outputs", strict)
            batched = vectorize and not any(keeps_elsewhere(x) for x in own)
            rows = _batched_rows if batched else _rows
            found = tuple([rows(o, i, own, create_graph, strict) for i, o in enumerate(outputs)])
    found = _grad_postprocess(found, create_graph)
    picked = tuple([_one_or_all(row, several) for row in found])
    return _one_or_all(picked, outs_several)


def _construct_standard_basis_for(
    tensors: Sequence[Tensor], tensor_numels: Sequence[int]
) -> tuple[Tensor, ...]:
    """For each tensor of ``tensor_numels`` elements the columns of the identity matrix over the
    elements of all that are its own."""
    total = sum(tensor_numels)
    found = []
    at = 0
    for t, n in zip(tensors, tensor_numels, strict=True):
        column = t.new_zeros(total, n)
        column.diagonal(-at).fill_(1)
        found.append(column)
        at += n
    return tuple(found)


def _rows(
    output: Tensor, i: int, own: Sequence[Tensor], create_graph: bool, strict: bool
) -> tuple[Tensor, ...]:
    """The Jacobian of one output, element by element."""
    columns = [[] for _ in own]
    flat = output.reshape(-1)
    for j in range(output.numel()):
        grads = _grad((flat[j],), own, None, create_graph)
        for k, (g, x) in enumerate(zip(grads, own, strict=True)):
            if g is None:
                if strict:
                    raise RuntimeError(
                        f"Output {i} of the user-provided function is independent of input {k}. "
                        "This is not allowed in strict mode."
                    )
                g = jtorch.zeros_like(x)
            elif strict and create_graph and not g.requires_grad:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {k}. This "
                    "is not allowed in strict mode when create_graph=True."
                )
            columns[k].append(g)
    made = []
    for c, x in zip(columns, own, strict=True):
        stacked = jtorch.stack(c) if c else x.new_zeros((0, *x.shape))
        made.append(stacked.view((*output.shape, *x.shape)))
    return tuple(made)


def _batched_rows(
    output: Tensor, i: int, own: Sequence[Any], create_graph: bool, strict: bool
) -> tuple[object, ...]:
    """The Jacobian of one output, all elements at once; strict mode never comes here."""
    grads = (None,) * len(own)
    if output.requires_grad and output.numel():
        flat = output.reshape(-1).as_subclass(Tensor)
        directions = jtorch.eye(flat.numel(), dtype=flat.dtype, device=flat.device)
        grads = tape_grad(
            (flat,), own, directions, True, create_graph, is_grads_batched=True, allow_unused=True
        )
    return tuple(
        [
            (x.new_zeros((output.numel(), *x.shape)) if g is None else g).reshape(
                (*output.shape, *x.shape)
            )
            for g, x in zip(grads, own, strict=True)
        ]
    )


def _vectorized(
    func: Function, own: Sequence[Tensor], create_graph: bool, strategy: str
) -> tuple[Any, bool]:
    from ..func import jacfwd, jacrev

    outs: list[bool] = []

    def as_tuple(*xs: Tensor) -> tuple[object, ...]:
        # torch has no transformation here, and lets the function write into what it captured
        MODE.starts.append(0)
        try:
            if strategy == "forward-mode":
                several, found = _as_tuple(func(*xs), "outputs", "None")
            else:
                several, found = _as_tuple(
                    func(*xs), "outputs of the user-provided function", "jacobian"
                )
        finally:
            MODE.starts.pop()
        outs.append(several)
        return found

    every = tuple(range(len(own)))
    transform = jacfwd if strategy == "forward-mode" else jacrev
    given = own if create_graph else [x.detach() for x in own]
    return transform(as_tuple, every)(*given), outs[0]


@apart("torch.autograd.functional.hessian")
def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function: a tensor of the input's shape twice, or a tuple of tuples
    of them.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0, 2.0])
        >>> torch.autograd.functional.hessian(lambda x: (x * x * x).sum(), x)
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    if outer_jacobian_strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    several, given = _as_tuple(inputs, "inputs", "hessian")

    def checked(*xs: Tensor) -> Tensor:
        out = _scalar(func(*xs), "hessian")
        _need_history((out,), "outputs", strict)
        return out.reshape(()) if out.dim() else out

    def gradient(*xs: Tensor) -> tuple[Tensor, ...]:
        if outer_jacobian_strategy == "forward-mode":
            xs = tuple([requiring(x) if x.is_leaf and not x.requires_grad else x for x in xs])
        found = jacobian(checked, xs, create_graph=True)
        _need_history(found, "jacobian", strict)
        return found

    found = jacobian(
        gradient,
        given,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return found if several else found[0][0]


def _scalar(out: Tensor, function: str) -> Tensor:
    """The one tensor that a function gave.

    Raises:
        TypeError, RuntimeError: if it gave something else.
    """
    several, found = _as_tuple(out, "outputs of the user-provided function", function)
    if several:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if found[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain a single "
            "element"
        )
    return found[0]


@apart("torch.autograd.functional.vhp")
def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """``func(*inputs)``, a scalar, and the product of ``v`` with its Hessian.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0, 2.0])
        >>> torch.autograd.functional.vhp(lambda x: (x * x * x).sum(), x, torch.tensor([1.0, 10.0]))
        (tensor(9.), tensor([  6., 120.]))
    """
    with enable_grad():
        several, given = _as_tuple(inputs, "inputs", "vhp")
        own = _owned(given, create_graph, True)
        vectors = _directions(v, own, several, "vhp")
        output = _scalar(func(*own), "vhp")
        _need_history((output,), "outputs", strict)
        first = _filled(_grad((output,), own, None, True), own, strict, "back")
        _need_history(first, "jacobian", strict)
        found = _filled(_grad(first, own, vectors, create_graph), own, strict, "double_back")
    return _grad_postprocess(output, create_graph), _one_or_all(
        _grad_postprocess(found, create_graph), several
    )


@apart("torch.autograd.functional.hvp")
def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """``func(*inputs)``, a scalar, and the product of its Hessian with ``v``.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0, 2.0])
        >>> torch.autograd.functional.hvp(lambda x: (x * x * x).sum(), x, torch.tensor([1.0, 10.0]))
        (tensor(9.), tensor([  6., 120.]))
    """
    with enable_grad():
        several, given = _as_tuple(inputs, "inputs", "hvp")
        own = _owned(given, create_graph, True)
        vectors = _directions(v, own, several, "hvp")
        output = _scalar(func(*own), "hvp")
        _need_history((output,), "outputs", strict)
        first = _filled(_grad((output,), own, None, True), own, strict, "back")
        _need_history(first, "jacobian", strict)
        # The Hessian is symmetric, so that its product with v from either side is the same.
        found = _filled(_grad(first, own, vectors, create_graph), own, strict, "double_back")
    return _grad_postprocess(output, create_graph), _one_or_all(
        _grad_postprocess(found, create_graph), several
    )
