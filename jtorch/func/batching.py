"""``vmap``: a function of one example becomes a function of a batch of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .._src.protocol.recorded import apart
from ..autograd.grad_mode import MODE
from ..core import Tensor
from ..random import default_generator, restricted
from .levels import Entering, Level, enter, leave, looked_at, settle
from .trees import broadcast_and_flatten, flatten, unflatten

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Keywords, Named, Operand, Tree, Values


#: Where libraries replace stages of ``vmap``: the names of ``torch._functorch.vmap``, once that is
#: loaded.
STAGES: dict[str, Any] | None = None


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """``func`` applied to each example along ``in_dims`` of its tensor arguments, results stacked
    along ``out_dims``.

    ``in_dims`` and ``out_dims`` are a dimension, or a nested structure of dimensions and None (not
    batched) that matches the arguments or results. With ``randomness="different"`` each example
    draws numbers of its own, with ``"same"`` all get the same. ``chunk_size`` runs so many examples
    at a time. Results that do not depend on the example are repeated.

    Raises:
        ValueError: if the dimensions do not fit the arguments or results.
        RuntimeError: if ``func`` draws random numbers and ``randomness`` is ``"error"``, or reads a
            value on the host.

    Example:
        >>> import jtorch as torch
        >>> torch.vmap(torch.dot)(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.ones(2, 2))
        tensor([3., 7.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and not (chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def again(f: Callable[..., object], *args: object, **kwargs: object) -> Any:
        return vmap(f, in_dims, out_dims, randomness, chunk_size=chunk_size)(*args, **kwargs)

    @functools.wraps(func)
    @apart("torch.vmap", func, again, (in_dims, out_dims, randomness, chunk_size))
    def wrapped(*args: Any, **kwargs: Any) -> tuple[Tensor, ...] | dict[str, Tensor] | Tensor:
        if STAGES is not None and _replaced(STAGES):
            return STAGES["vmap_impl"](
                func, in_dims, out_dims, randomness, chunk_size, *args, **kwargs
            )
        if type(out_dims) is not int and not all(
            d is None or isinstance(d, int) for d in flatten(out_dims)[0]
        ):
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None "
                "or a python collection of ints representing where in the outputs the vmapped "
                "dimension should appear."
            )
        size, dims, flat, spec = _inputs(in_dims, args, func)
        if chunk_size is None or size <= chunk_size:
            return _run(func, size, dims, flat, spec, out_dims, randomness, kwargs)

        def run(n: int, piece: list[Tensor]) -> Any:
            return _run(func, n, dims, piece, spec, out_dims, randomness, kwargs)

        return in_chunks(run, size, dims, flat, out_dims, randomness, chunk_size)

    return wrapped


def _replaced(stages: Named) -> bool:
    """Whether a library put a stage of its own in the place of one."""
    own = stages["vmap_impl"].__globals__["OWN"]
    return any(stages[name] is not stage for name, stage in own.items())


def _name(func: Callable[..., object]) -> str:
    return getattr(func, "__name__", repr(func))


def _inputs(
    in_dims: tuple[int | None, ...] | int,
    args: tuple[object, ...],
    func: Callable[..., object],
    negative: bool = True,
) -> tuple[int, list[Any], list[Any], Any]:
    """The number of examples, and the flat arguments with their dimensions, which may be counted
    from the end if ``negative``."""
    what = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{what}expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you "
            "are trying to vmap over a function with no inputs. The latter is unsupported."
        )
    flat, spec = flatten(args)
    dims = broadcast_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{what}in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    sizes = []
    for i, (arg, dim) in enumerate(zip(flat, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(
                f"{what}Got in_dim={dim} for an input but in_dim must be either an integer "
                "dimension or None."
            )
        if not isinstance(arg, Tensor):
            raise ValueError(
                f"{what}Got in_dim={dim} for an input but the input is of type {type(arg)}. We "
                "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        lowest = -arg.dim() if negative else 0
        if not lowest <= dim < arg.dim():
            raise ValueError(
                f"{what}Got in_dim={dim} for some input, but that input is a Tensor of "
                f"dimensionality {arg.dim()} so expected in_dim to satisfy "
                f"{f'-{arg.dim()}' if negative else 0} <= in_dim < {arg.dim()}."
            )
        dims[i] = dim % arg.dim()
        sizes.append(arg.size(dim))
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(n != sizes[0] for n in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0], dims, flat, spec


def _placed(out_dims: list[int] | int, result: object) -> tuple[list[Any], Any, list[Any] | None]:
    """The flat results, their structure and their dimensions, None if these are of another
    structure."""
    flat, spec = flatten(result)
    if isinstance(result, Tensor) and isinstance(out_dims, (tuple, list)) and len(out_dims) == 1:
        out_dims = out_dims[0]
    return flat, spec, broadcast_and_flatten(out_dims, spec)


def _outputs(
    out_dims: list[int] | int, result: object, func: Callable[..., object]
) -> tuple[list[Any], Any, list[Any]]:
    """The flat results, their structure and their dimensions."""
    flat, spec, dims = _placed(out_dims, result)
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible "
            f"with the structure of `outputs`. out_dims has structure {flatten(out_dims)[1]} but "
            f"outputs has structure {spec}."
        )
    name = _name(func)
    for out, dim in zip(flat, dims, strict=True):
        if dim is not None and not isinstance(out, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(out)}. Did "
                "you mean to set out_dims= to None for output?"
            )
    return flat, spec, dims


def _run(
    func: Function,
    size: int,
    dims: list[int | None],
    flat: list[Tensor],
    spec: object,
    out_dims: int | list[int],
    randomness: str,
    kwargs: Keywords,
) -> Tree:
    level = Level(size, randomness)
    with level, restricted(randomness, level):
        inside = [a if d is None else enter(a, d, level) for a, d in zip(flat, dims, strict=True)]
        came = {
            id(t): (a, d, t, t._read())
            for a, d, t in zip(flat, dims, inside, strict=True)
            if d is not None
        }
        MODE.transforms.append(None)
        try:
            result = func(*unflatten(inside, spec), **kwargs)
        finally:
            MODE.transforms.pop()
        outs, out_spec, places = _outputs(out_dims, result, func)
        settle(outs)
    _give_back(came.values(), level)
    views = {
        id(o): _as_view(o, d, came) for o, d in zip(outs, places, strict=True) if d is not None
    }
    leaving = iter(
        leave(
            [
                o
                for o, d in zip(outs, places, strict=True)
                if d is not None and views[id(o)] is None
            ],
            level,
        )
    )
    made = []
    for o, d in zip(outs, places, strict=True):
        if d is None:
            _check_not_batched(o, level, func)
            made.append(o)
        elif (view := views[id(o)]) is not None:
            found, at = view
            made.append(found.movedim(at, d) if at != d else found)
        else:
            t = next(leaving)
            if MODE.inference and t._al is None:
                t._uncount()
            made.append(t.movedim(0, d) if d else t)
    return unflatten(made, out_spec)


def _as_view(o: Tensor, to: int, came: dict[int, Any]) -> tuple[Any, int] | None:
    """A result that is an argument or a view of one, as such a view of all examples, and the axis
    that goes over them; None for others.

    An argument whose examples are to lie along ``to``, where they lay, is that argument itself.
    """
    if id(o) in came:
        a, dim, _, _ = came[id(o)]
        return (a, dim) if dim == to else (a.movedim(dim, 0) if dim else a, 0)
    if o._al is not None and o._al.chain:
        for a, dim, example, _ in came.values():
            found = looked_at(o, example, a.movedim(dim, 0) if dim else a)
            if found is not None:
                return found, 0
    return None


def _give_back(came: Iterable[tuple[Any, int, Tensor, Any]], level: Level) -> None:
    """Writes what the function wrote into its arguments into those of all examples."""
    for a, dim, t, before in came:
        if t._read() is not before and t.dim() + 1 == a.dim():
            now = leave([t], level)[0]
            # it was written without a history, and keeps its own
            if t._node is None or type(t._node) is Entering:
                a, now = a.detach(), now.detach()
            (a.movedim(dim, 0) if dim else a).copy_(now)


def _check_not_batched(out: object, level: Level, func: Callable[..., object]) -> None:
    if isinstance(out, Tensor) and getattr(out._read(), "level", None) is level:
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when "
            "out_dim is None"
        )


def in_chunks(
    run: Callable[[int, list[Any]], Any],
    size: int,
    dims: Values,
    flat: list[Operand],
    out_dims: Any,
    randomness: str,
    chunk: int,
) -> Tensor:
    """What ``run(n, arguments)`` gives for ``chunk`` examples at a time, joined along
    ``out_dims``."""
    import jtorch

    starts = list(range(chunk, size, chunk))
    columns = [
        [a] * (len(starts) + 1) if d is None else a.tensor_split(starts, dim=d)
        for a, d in zip(flat, dims, strict=True)
    ]
    sizes = [min(chunk, size - start) for start in [0, *starts]]
    state = default_generator.get_state() if randomness == "same" else None
    parts: list[list[Any]] = []
    spec, places = None, None
    for n, *piece in zip(sizes, *columns, strict=True):
        if state is not None:
            default_generator.set_state(state)
        found, spec, places = _placed(out_dims, run(n, piece))
        parts.append(found)
    assert places is not None
    joined = [
        column[0] if d is None else jtorch.cat(column, d)
        for column, d in zip(zip(*parts, strict=True), places, strict=True)
    ]
    return unflatten(joined, spec)
