"""``backward`` and ``grad``: roots, gradients given and wanted, accumulation into leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import Tensor, from_value
from ..engine import Value, record
from ..ops._declare import OPS
from ..ops._kernel import T, call_of
from .grad_mode import MODE
from .tape import Node, _Task, tracked


def _call(name: str, operands: int) -> Any:
    return call_of(OPS[f"_C.{name}"], (T,) * operands)


def _add_values(a: Value, b: Value) -> Value:
    return record(_call("_accumulate", 2), (a, b))


def _add_pairs(a: tuple[Value, Any], b: tuple[Value, Any]) -> tuple[Value, Any]:
    return tracked(_call("_accumulate", 2), [a, b])[0]


def _tensor(pair: Any, create_graph: bool) -> Tensor:
    if not create_graph:
        return from_value(pair)
    v, edge = pair
    t = from_value(v)
    if type(edge) is tuple:
        t._node, t._nr, t._rg = edge[0], edge[1], True
    elif edge is not None:  # the value of a leaf itself: it needs a node of its own to be another tensor
        t = _alias_node(v, edge)
    return t


def _alias_node(v: Value, edge: Any) -> Tensor:
    copied = tracked(call_of(OPS["clone"], (T,)), [(v, edge)])[0]
    t = from_value(copied[0])
    t._node, t._nr, t._rg = copied[1][0], copied[1][1], True
    return t


def _item(grad: Tensor, create_graph: bool) -> Any:
    """What the task works on: a value, or a (value, edge) pair when the derivative is recorded."""
    v = grad._v or grad._read()
    return (v, grad._edge()) if create_graph else v


def _tensors(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, Tensor):
        return (given,)
    return tuple(given)


def _root_grads(tensors: Sequence[Tensor], grads: Sequence[Any], batched: bool) -> list[Tensor]:
    if len(grads) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grads)} gradients")
    found = []
    for t, g in zip(tensors, grads, strict=True):
        if g is None:
            if t._rg or t.requires_grad:
                if t._aval.size != 1:
                    raise RuntimeError("grad can be implicitly created only for scalar outputs")
                if not t._aval.differentiable or t.dtype.is_complex:
                    raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype}")
                found.append(from_value(record(_call("_ones_like", 1), (t._read(),))))
            else:
                found.append(None)
            continue
        if not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        if tuple(g.shape) != tuple(t.shape):
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{len(found)}] has a shape of {g.shape} and output[{len(found)}] has a shape of {t.shape}."
            )
        if t.dtype.is_complex != g.dtype.is_complex:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: grad_output"
                f"[{len(found)}] has a dtype of {g.dtype} and output[{len(found)}] has a dtype of {t.dtype}."
            )
        if g.dtype is not t.dtype:
            from ..applying import converted

            g = converted(g, t.dtype)
        found.append(g)
    return found


def _start(task: _Task, tensors: Sequence[Tensor], grads: Sequence[Tensor | None]) -> list[Node]:
    roots = []
    for i, (t, g) in enumerate(zip(tensors, grads, strict=True)):
        t._read()
        edge = t._edge()
        if edge is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if g is None:
            continue
        task.give(edge, _item(g, task.create_graph))
        if type(edge) is tuple:
            roots.append(edge[0])
    return roots


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Adds the gradients of ``tensors`` (of their products with ``grad_tensors``) to the ``grad`` of the leaves they depend on.

    Args:
        retain_graph: keep the graph for another walk (default: as ``create_graph``).
        create_graph: record the derivative itself, so that it can be differentiated.
        inputs: only these tensors receive gradients.

    Raises:
        RuntimeError: if a tensor does not require grad, is no scalar and has no gradient given, or the graph was freed.
    """
    roots = _tensors("backward", tensors)
    given = (None,) * len(roots) if grad_tensors is None else _tensors("backward", grad_tensors)
    targets = None if inputs is None else _tensors("backward", inputs)
    if targets is not None and not targets:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    keep = create_graph if retain_graph is None else retain_graph
    task = _Task(create_graph, keep, _add_pairs if create_graph else _add_values)
    enabled, MODE.enabled = MODE.enabled, create_graph
    try:
        grads = _root_grads(roots, given, False)
        nodes = _start(task, roots, grads)
        if targets is not None:
            _want(task, targets)
        task.run(nodes)
        for leaf, grad in list(task.leaf_grads.values()):
            if targets is None or any(leaf is t for t in targets):
                accumulate(leaf, grad, create_graph)
        if targets is not None:
            for t in targets:
                if t._node is not None:
                    found = task.captured.get((id(t._node), t._nr))
                    if found is not None:
                        accumulate(t, found, create_graph)
    finally:
        MODE.enabled = enabled


def _want(task: _Task, targets: Sequence[Tensor]) -> None:
    task.only_leaves = set()
    for t in targets:
        t._read()
        if t._node is None:
            task.only_leaves.add(id(t))
        else:
            task.wanted.setdefault(t._node, set()).add(t._nr)


def accumulate(leaf: Tensor, grad: Any, create_graph: bool) -> None:
    """Adds a gradient to ``leaf.grad``, after the leaf's hooks."""
    t = _tensor(grad, create_graph)
    hooks = leaf._hooks
    if hooks:
        t = run_tensor_hooks(hooks, t)
    have = leaf._grad
    if have is None:
        leaf._grad = t
    elif create_graph:
        added = _add_pairs(_item(have, True), _item(t, True))
        leaf._grad = _tensor(added, True)
    else:
        _add_in_place(have, t)
    if leaf._post_hooks:
        for hook in list(leaf._post_hooks.values()):
            hook(leaf)


def _add_in_place(have: Tensor, more: Tensor) -> None:
    from ..core import assign

    assign(have, _add_values(have._v or have._read(), more._v or more._read()), None)


def run_tensor_hooks(hooks: dict[int, Any], t: Tensor) -> Tensor:
    """Runs a tensor's hooks in order; each may replace the gradient."""
    for hook in list(hooks.values()):
        result = hook(t)
        if result is not None:
            if not isinstance(result, Tensor):
                raise TypeError(
                    f"hook '{getattr(hook, '__name__', hook)}' has returned an object of type {type(result).__name__} instead of a Tensor"
                )
            if result.shape != t.shape:
                raise RuntimeError(f"hook '{getattr(hook, '__name__', hook)}' has changed the size of value")
            t = result
    return t


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of ``outputs`` (of their products with ``grad_outputs``) with respect to ``inputs``, as a tuple.

    Args:
        allow_unused: None instead of an error for inputs that the outputs do not depend on.
        materialize_grads: zeros instead of None for them.
        is_grads_batched: the first dimension of each of ``grad_outputs`` counts vectors; so does that of the results.

    Raises:
        RuntimeError: if an input does not require grad or was not used, or an output does not require grad.
    """
    outs = _tensors("grad", outputs)
    targets = _tensors("grad", inputs)
    given = (None,) * len(outs) if grad_outputs is None else _tensors("grad", grad_outputs)
    if materialize_grads:
        if allow_unused is False:
            raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
        allow_unused = True
    if is_grads_batched:
        return _batched_grad(outs, targets, given, retain_graph, create_graph, allow_unused, materialize_grads)
    for t in targets:
        t._read()
        if not t._rg:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    keep = create_graph if retain_graph is None else retain_graph
    task = _Task(create_graph, keep, _add_pairs if create_graph else _add_values)
    enabled, MODE.enabled = MODE.enabled, create_graph
    try:
        grads = _root_grads(outs, given, False)
        nodes = _start(task, outs, grads)
        _want(task, targets)
        task.run(nodes)
        found = []
        for t in targets:
            if t._node is None:
                entry = task.leaf_grads.get(id(t))
                item = None if entry is None else entry[1]
            else:
                item = task.captured.get((id(t._node), t._nr))
            if item is None:
                if not allow_unused:
                    raise RuntimeError(
                        "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
                        "this is the "
                        "desired behavior."
                    )
                found.append(_zeros_like(t) if materialize_grads else None)
            else:
                r = _tensor(item, create_graph)
                if t._node is None and t._hooks:
                    r = run_tensor_hooks(t._hooks, r)
                found.append(r)
        return tuple(found)
    finally:
        MODE.enabled = enabled


def _zeros_like(t: Tensor) -> Tensor:

    call = call_of(OPS["_C._fill"], (T, "i"))
    return from_value(record(call, (t._read(),), (0,)))


def _batched_grad(outs: Any, targets: Any, given: Any, retain: Any, create: bool, allow_unused: Any, materialize: bool) -> tuple[Any, ...]:
    import jtorch

    sizes = {g.shape[0] for g in given if g is not None}
    if len(sizes) != 1:
        raise RuntimeError("is_grads_batched=True needs grad_outputs that all have the same first dimension")
    n = sizes.pop()
    rows = [
        grad(
            outs,
            targets,
            [None if g is None else g[i] for g in given],
            retain_graph=True if i < n - 1 else retain,
            create_graph=create,
            allow_unused=allow_unused,
            materialize_grads=materialize,
        )
        for i in range(n)
    ]
    return tuple([None if column[0] is None else jtorch.stack(column) for column in zip(*rows, strict=True)])
