"""Traces whose graphs write nothing in place.

In the graph a write is only this: from then on another node stands for the tensor, for what it is a
view of, and for the other views of that. Fake tensors have no data; others are written to beside
it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.aten.kernels import functional_of
from jtorch._src.facts.errors import not_offered
from jtorch._src.tensor.symbols import exact
from jtorch.fx.node import Node
from jtorch.fx.proxy import Proxy
from jtorch.utils import _pytree as pytree

from .proxy_tensor import (
    ProxyTorchDispatchMode,
    PythonKeyTracer,
    disable_proxy_modes_tracing,
    get_proxy_mode,
    running,
)

if TYPE_CHECKING:
    from ..._src.aten.overloads import OpOverload
    from ..._src.facts.kinds import Tree, Values


A = torch.ops.aten


class View:
    """A view: the tensor it was taken of, the operator that takes it, and which of that one's
    results it is."""

    def __init__(
        self, tensor: Any, base: Any, func: Any, values: list[Any], place: int | None
    ) -> None:
        self.tensor, self.base, self.func, self.values, self.place = (
            tensor,
            base,
            func,
            values,
            place,
        )


class WithoutWrites(ProxyTorchDispatchMode):
    """Adds operators to a graph, those that write as those that do not.

    Attributes:
        doing: what cannot be done where there is no such operator, for errors.
    """

    doing = "functionalize"

    def __init__(self, tracer: PythonKeyTracer, table: dict[object, Callable[..., object]]) -> None:
        super().__init__(tracer, table)
        self.views: list[View] = []

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if not self.enabled:
            return func(*args, **kwargs)
        if func._schema.writes:
            found = self.decompositions.get(func)
            if found is not None:
                with self:
                    out = found(*args, **kwargs)
                if out is not NotImplemented:
                    return out
            return self.written(func, args, kwargs)
        out = self.added(func, types, args, kwargs)
        if func._schema.is_view:
            values = func.complete(args, kwargs)
            several = isinstance(out, (list, tuple))
            for i, t in enumerate(out if several else [out]):
                if isinstance(t, torch.Tensor) and t is not values[0]:
                    self.views.append(View(t, values[0], func, values, i if several else None))
        return out

    def added(
        self,
        func: object,
        types: tuple[type, ...],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> Tree:
        """Adds an operator that does not write, and runs it."""
        return super().__torch_dispatch__(func, types, args, kwargs)

    def carried_out(
        self, func: object, args: tuple[torch.Tensor | complex | int, ...], kwargs: object
    ) -> None:
        """Runs an operator that writes into tensors that have data."""

    def written(
        self,
        func: OpOverload,
        args: tuple[torch.Tensor | complex | int, ...],
        kwargs: dict[str, torch.Tensor],
    ) -> Any:
        """Adds an operator that writes as one that does not."""
        values = func.complete(args, kwargs)
        places = func._schema.outs or func._schema.writes
        targets = [values[i] for i in places]
        plain = A.copy.default if func is A.copy_.default else functional_of(func)
        if plain is None or any(not isinstance(t, torch.Tensor) for t in targets):
            raise not_offered(self.doing, f"{func} has no form that does not write")
        given = [v for i, v in enumerate(values) if i not in func._schema.outs]
        with self:
            found = plain(*[x for x, a in zip(given, plain._schema.arguments) if not a.kwarg_only],
                          **{a.name: x for x,
                             a in zip(given, plain._schema.arguments) if a.kwarg_only})  # fmt: skip
        results = list(found) if isinstance(found, (list, tuple)) else [found]
        converted = []
        # the targets themselves get another shape: whoever holds them sees it
        other = plain._schema.is_view
        for target, result in zip(targets, results, strict=True):
            if plain._schema.is_view:
                self.views = [view for view in self.views if view.tensor is not result]
            elif tuple(exact(result.shape)) != tuple(exact(target.shape)):
                if self.is_given(target):
                    raise not_offered(
                        self.doing, f"{func} changes the shape of an argument in place"
                    )
                other = True
            if other and any(target is t for view in self.views for t in (view.tensor, view.base)):
                raise not_offered(self.doing, f"{func} of a tensor with views, or of a view")
            if result.dtype is not target.dtype:
                with self:
                    result = A._to_copy.default(result, dtype=target.dtype)
            converted.append(result)
        if other:
            func(*args, **kwargs)
        else:
            self.carried_out(func, args, kwargs)
        for target, result in zip(targets, converted, strict=True):
            self.replace(target, result)
        return targets[0] if len(targets) == 1 else tuple(targets)

    def is_given(self, target: torch.Tensor) -> bool:
        """Whether a tensor is an argument."""
        proxy = self.tracer.proxy_of(target)
        return proxy is None or proxy.node.op == "placeholder"

    def stands_for(self, target: torch.Tensor, proxy: Proxy) -> None:
        """From now on a node gives the value of ``target``."""
        self.tracer.known[id(target)] = target, proxy

    def replace(self, target: Any, result: torch.Tensor) -> None:
        """From now on ``target`` has the value of ``result``."""
        proxy = self.tracer.proxy_of(result)
        assert proxy is not None
        self.stands_for(target, proxy)
        made = next((v for v in reversed(self.views) if v.tensor is target), None)
        if made is not None:
            with self:
                whole = self._put(made, result)
            self.replace(made.base, whole)  # its views, this one too, are taken anew
            return
        for view in [v for v in self.views if v.base is target]:
            self._retake(view)

    def _retake(self, view: View) -> None:
        before = len(self.views)
        with self:
            again = view.func(*view.values[: view.func._schema.count])
        del self.views[before:]
        proxy = self.tracer.proxy_of(again if view.place is None else again[view.place])
        assert proxy is not None
        self.stands_for(view.tensor, proxy)
        for other in [v for v in self.views if v.base is view.tensor]:
            self._retake(other)

    def _put(self, view: View, value: torch.Tensor) -> Any:
        """The base of a view with another value in the view's place."""
        base, func = view.base, view.func
        name, rest = func._opname, view.values[1:]
        shape = list(base.shape)
        if func is A.view.dtype:
            return A.view.dtype(value, base.dtype)
        # numbers seen as their parts, or parts as numbers: the other undoes it
        if base.is_complex() is not value.is_complex():
            return getattr(A, f"{name[:8]}{'complex' if base.is_complex() else 'real'}").default(
                value
            )
        if name in ("_conj", "_neg_view"):
            return (A._conj_physical if name == "_conj" else A.neg).default(value)
        if name == "unfold" and base.dim() and rest[2] >= rest[1]:
            return _with_windows(base, value, *rest)
        if name in ("view", "reshape", "unsqueeze", "squeeze", "_unsafe_view", "alias", "detach"):
            return value if name in ("alias", "detach") else A.view.default(value, shape)
        if name == "permute":
            order = [d % base.dim() for d in rest[0]]
            return A.permute.default(value, [order.index(i) for i in range(base.dim())])
        if name in ("transpose", "t"):
            return A.transpose.int(value, *(rest or (0, 1))) if base.dim() > 1 else value
        if view.place is not None:
            joined = _joined(base, value, name, rest, view.place)
            return self._unfit(func) if joined is None else joined
        # others have places that nothing writes into
        if name == "expand" and value.numel() == base.numel():
            return A.view.default(value, shape)
        scatter = getattr(A, f"{name}_scatter", None)
        if scatter is not None and (name != "as_strided" or _lies_within(base, *rest)):
            return scatter.default(base, value, *rest)
        return self._unfit(func)

    def _unfit(self, func: object) -> Any:
        raise not_offered(self.doing, f"a write through the view that {func} takes")


def _lies_within(
    base: torch.Tensor, size: list[int], stride: list[int], start: int | None = None
) -> bool:
    """Whether a view by strides lies where a tensor does whose elements lie one after the other,
    from the first on."""
    last = (start or 0) + sum(max(n - 1, 0) * s for n, s in zip(size, stride, strict=True))
    return bool(base.is_contiguous() and base.storage_offset() == 0 and last < base.numel())


def _with_windows(
    base: torch.Tensor, value: torch.Tensor, dim: int, size: int, step: int
) -> torch.Tensor:
    """``base`` with other values in windows that do not overlap: the first elements of all, the
    second ones, ..."""
    last = (value.shape[dim] - 1) * step
    for i in range(size):
        base = A.slice_scatter.default(base, A.select.int(value, -1, i), dim, i, i + last + 1, step)
    return base


def _joined(base: torch.Tensor, value: torch.Tensor, name: str, rest: Values, place: int) -> object:
    """``base`` with another value in the place of one of its parts; None for what takes no such
    parts."""
    if name == "unbind":
        return A.select_scatter.default(base, value, rest[0], place)
    if not name.startswith("split"):
        return None
    given, dim = rest[:2]  # the sizes, or that of each
    start = sum(given[:place]) if isinstance(given, (list, tuple)) else place * given
    return A.slice_scatter.default(base, value, dim, start, start + value.shape[dim])


class _Carried(WithoutWrites):
    """For a function that is being traced with its data; with ``copies``, views too become
    operators that give new tensors.

    Attributes:
        before: the tensors that were there before, by identity, with their proxies.
    """

    def __init__(
        self, tracer: PythonKeyTracer, table: dict[object, Callable[..., object]], copies: bool
    ) -> None:
        super().__init__(tracer, table)
        self._copies = copies
        self.before: dict[int, tuple[Any, Proxy]] = {
            key: x for key, x in tracer.known.items() if isinstance(x[0], torch.Tensor)
        }
        #: Nodes from outside whose tensors share memory with one that was written to since.
        self._stale: set[Node] = set()

    def added(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> list[torch.Tensor] | torch.Tensor:
        """Adds an operator, and runs it: as the view that it is."""
        for t in pytree.tree_leaves((args, kwargs)) if self._stale else ():
            proxy = self.tracer.proxy_of(t) if isinstance(t, torch.Tensor) else None
            if proxy is not None and proxy.node in self._stale:
                raise not_offered(
                    self.doing,
                    f"{func} of a view from outside of the function that something else was "
                    "written through",
                )
        copy = None
        if self._copies and func._schema.is_view and func not in self.decompositions:
            copy = getattr(getattr(A, f"{func._opname}_copy", None), func._overloadname, None)
        if copy is None:
            return super().added(func, types, args, kwargs)
        proxy = self.tracer.create_proxy(
            "call_function", copy, args, kwargs, copy.overloadpacket.__name__
        )
        out = func(*args, **kwargs)
        self.tracer.track(out, proxy)
        return out

    def carried_out(
        self,
        func: Callable[..., object],
        args: tuple[torch.Tensor | complex | int, ...],
        kwargs: dict[str, torch.Tensor],
    ) -> None:
        """Runs an operator that writes into tensors that have data."""
        func(*args, **kwargs)

    def is_given(self, target: torch.Tensor) -> bool:
        """Whether a tensor was there before."""
        return id(target) in self.before

    def stands_for(self, target: torch.Tensor, proxy: Proxy) -> None:
        """From now on a node gives the value of ``target``."""
        known = self.before.get(id(target))
        if known is not None and known[1].node not in self._stale:
            self._stale |= _sharing(known[1].node) - {known[1].node}
        super().stands_for(target, proxy)

    def finish(self) -> None:
        """Adds what writes into the tensors from outside that were changed."""
        for t, proxy in self.before.values():
            now = self.tracer.proxy_of(t)
            if now is not None and now.node is not proxy.node:
                made = self.tracer.create_proxy(
                    "call_function", A.copy_.default, (proxy, now), {}, "copy_"
                )
                made.node.meta.update(
                    {k: v for k, v in now.node.meta.items() if k in ("val", "tensor_meta")}
                )
                super().stands_for(t, proxy)


def _sharing(node: Node) -> set[Node]:
    """The nodes of a graph that give views of one memory: those that a node was taken of, and all
    that were taken of them."""

    def of(n: Node) -> Node | None:  # what a view, or one of several, was taken of
        view = n.target is operator.getitem or getattr(
            getattr(n.target, "_schema", None), "is_view", False
        )
        return n.args[0] if view and isinstance(n.args[0], Node) else None

    while (base := of(node)) is not None:
        node = base
    found, left = {node}, [node]
    while left:
        more = [
            user
            for user in left.pop().users
            if user not in found and (of(user) in found or _writes_into(user, found))
        ]
        found.update(more)
        left += more
    return found


def _writes_into(node: Node, found: set[Node]) -> bool:
    """Whether a node gives what it writes into, which is one of ``found``."""
    return (
        bool(getattr(getattr(node.target, "_schema", None), "writes", ()))
        and bool(node.args)
        and node.args[0] in found
    )


def functional(
    func: Callable[..., object],
    args: tuple[torch.Tensor, ...],
    kwargs: dict[str, object],
    remove: str,
) -> Tree:
    """Calls a function; where ``make_fx`` traces it, its writes become other operators, and one
    each for the tensors from outside that it changed."""
    outer = get_proxy_mode()
    if outer is None or not outer.enabled or isinstance(outer, WithoutWrites):
        return func(*args, **kwargs)
    mode = _Carried(outer.tracer, outer.decompositions, remove == "mutations_and_views")
    # which branches and loops are captured in, too
    with disable_proxy_modes_tracing(), mode, running(mode):
        result = func(*args, **kwargs)
    mode.finish()
    return result
