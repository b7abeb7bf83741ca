"""``grad``, ``vjp``, ``jvp``, Jacobians and Hessians of functions, on the tape.

Forward derivatives go along with the values (``autograd.dual``); those of ``linearize``, which does
not run the function again, are the derivative of ``vjp`` with respect to its cotangent, which is
linear in it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from .._src.engine import Lifted
from .._src.facts import dtypes
from .._src.protocol.recorded import apart, apart_with_function
from ..autograd.dual import Level, leave
from ..autograd.engine import grad as tape_grad
from ..autograd.forward_ad import check_pair, entered
from ..autograd.grad_mode import FORWARD, MODE, recording
from ..autograd.tape import SAVING
from ..core import BIRTHS, Tensor, adopted, born, from_value
from .batching import vmap
from .given import Given, given_beside
from .inputs import Inputs, give_back
from .trees import flatten, treespec_pprint, unflatten

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Operands


@contextmanager
def inside(
    transform: object = None, start: int | None = None, given: Sequence[Tensor] = ()
) -> Iterator[None]:
    """A block in which a function is transformed, where ``backward`` and ``requires_grad_`` are
    refused.

    With ``start``, the function is differentiated: it may write only into what was born since, and
    into what it was ``given``.
    """
    MODE.transforms.append(transform)
    if start is not None:
        MODE.starts.append(start)
        BIRTHS.append(None)
        if given:
            MODE.given[start] = given
    try:
        yield
    finally:
        if start is not None:
            MODE.given.pop(start, None)
            MODE.starts.pop()
            BIRTHS.pop()
        MODE.transforms.pop()


_NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an "
    "issue with your use case."
)


@contextmanager
def _without_hooks() -> Iterator[None]:
    """A block in which nothing saved for ``backward`` goes through hooks.

    Raises:
        RuntimeError: if there are some, or when some are entered inside.
    """
    if SAVING.hooks:
        raise RuntimeError(_NO_HOOKS)
    SAVING.disabled.append(_NO_HOOKS)
    try:
        yield
    finally:
        SAVING.disabled.pop()


def _argnums(argnums: tuple[int, ...] | int, count: int) -> tuple[int, ...]:
    """Argument numbers counted from the front.

    Raises:
        RuntimeError: if one is no argument, or they repeat.
    """
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    found = []
    for n in numbers:
        if not isinstance(n, int):
            raise RuntimeError(f"argnum must be int, got: {type(n)}")
        if not -count <= n < count:
            raise RuntimeError(f"Got argnum={n}, but only {count} positional inputs")
        found.append(n % count)
    if not found:
        raise RuntimeError("argnums must be non-empty")
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(found)}")
    return tuple(found)


def _chosen(
    argnums: tuple[int, ...] | int, args: tuple[object, ...]
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The chosen arguments (one, or a tuple of them), and a function that puts others in their
    place."""
    numbers = _argnums(argnums, len(args))
    single = isinstance(argnums, int)
    chosen = args[numbers[0]] if single else tuple([args[n] for n in numbers])

    def replaced(new: tuple[Tensor, ...] | Tensor) -> tuple[object, ...]:
        full = list(args)
        for n, x in zip(numbers, (new,) if single else new, strict=True):
            full[n] = x
        return tuple(full)

    return chosen, replaced


def _split_aux(
    found: tuple[object, ...] | dict[str, Tensor] | Tensor, has_aux: bool, what: str
) -> tuple[object, object]:
    if not has_aux:
        return found, None
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(
            f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for x in flatten(found[1])[0]:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
    return found


def _gradients(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], cotangents: Operands, create_graph: bool
) -> list[Tensor]:
    """Gradients of the outputs that have history; zeros where there is none."""
    there = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o._rg]
    if not there:
        return [_zeros_like(t) for t in inputs]
    outs, given = [o for o, _ in there], [c for _, c in there]
    return list(
        tape_grad(
            outs,
            list(inputs),
            given,
            retain_graph=True,
            create_graph=create_graph,
            materialize_grads=True,
        )
    )


def _zeros_like(t: Tensor) -> Tensor:
    return t.detach().new_zeros(t.shape)


# ---- gradients -----------------------------------------------------------------------------------


def grad_and_value(
    func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of ``func`` with respect to the arguments ``argnums``, and
    its value.

    ``func`` gives a scalar, or with ``has_aux`` a scalar and anything else; then the result is
    ``(gradient, (value, aux))``.

    Raises:
        RuntimeError: if the result is no scalar tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.func.grad_and_value(lambda x: x * x)(torch.tensor(3.0))
        (tensor(6.), tensor(9.))
    """

    def again(f: Callable[..., object], *args: object, **kwargs: object) -> Any:
        return grad_and_value(f, argnums, has_aux)(*args, **kwargs)

    @functools.wraps(func)
    @apart("torch.func.grad_and_value", func, again, (argnums, has_aux))
    def wrapper(*args: Tensor, **kwargs: object) -> tuple[object, ...]:
        chosen, replaced = _chosen(argnums, args)
        flat, spec = flatten(chosen)
        given = Given(given_beside(args, kwargs, chosen))
        inputs = Inputs(flat)
        with recording():
            with inside(inputs, inputs.birth, given.tensors), _without_hooks():
                found = func(*replaced(unflatten(inputs.tensors, spec)), **kwargs)
            output, aux = _split_aux(found, has_aux, "grad_and_value(f)(*args)")
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got "
                    f"{type(output)}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got "
                    f"tensor with {output.dim()} dims. Maybe you wanted to use the vjp or jacrev "
                    "APIs instead?"
                )
            (output,) = given.apart([output])
            grads = _gradients([output], inputs.tensors, [None], inputs.leads_out([output]))
        inputs.give_back()
        given.settle(inputs.start, inputs.leads_out)
        grads = inputs.settled(unflatten(grads, spec))
        output = inputs.settled(output)
        return (grads, (output, inputs.settled(aux))) if has_aux else (grads, output)

    return wrapper


def grad(
    func: Callable[..., object], argnums: object = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of ``func`` with respect to the arguments ``argnums``,
    with ``has_aux`` ``(gradient, aux)``.

    Example:
        >>> import jtorch as torch
        >>> torch.func.grad(lambda x: x * x)(torch.tensor(3.0))
        tensor(6.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Tensor, **kwargs: object) -> tuple[Tensor, ...] | Tensor:
        found, rest = both(*args, **kwargs)
        return (found, rest[1]) if has_aux else found

    return wrapper


class _Pull:
    """The results of a function at some inputs, ready to be differentiated."""

    def __init__(
        self,
        func: Callable[..., Any],
        primals: tuple[object, ...],
        has_aux: bool,
        what: str,
        hooks: bool = False,
        given: Sequence[Tensor] = (),
    ) -> None:
        flat, self.spec = flatten(primals)
        others = Given(list(given))
        self.inputs = Inputs(flat)
        with (
            recording(),
            inside(self.inputs, self.inputs.birth, others.tensors),
            nullcontext() if hooks else _without_hooks(),
        ):
            found, aux = _split_aux(func(*unflatten(self.inputs.tensors, self.spec)), has_aux, what)
            if others.written():
                outputs, spec = flatten(found)
                found = unflatten(others.apart(outputs), spec)
        self.inputs.give_back()
        others.settle(self.inputs.start, self.inputs.leads_out)
        self.aux = self.inputs.settled(aux)
        self.outputs, self.out_spec = flatten(found)
        _check_some(self.outputs, what)
        for o in self.outputs:
            if not isinstance(o, Tensor):
                raise RuntimeError(
                    f"{what}: expected f(*primals) to return only tensors, got unsupported type "
                    f"{type(o)}"
                )
        self.value = self.inputs.settled(found)
        self.tracked = self.inputs.leads_out(self.outputs)

    def _adopted(self, more: Sequence[Tensor] = ()) -> None:
        """Tells the transformations around a later call that no history leads out by the leaves of
        this one."""
        for t in (*self.inputs.tensors, *self.inputs.made, *more):
            if t._node is None:
                adopted(t)

    def gradients(self, cotangents: Sequence[object], create_graph: bool) -> list[Tensor]:
        """Gradients of the flat inputs."""
        return _gradients(self.outputs, self.inputs.tensors, cotangents, create_graph)

    def push(self, tangents: Sequence[Tensor]) -> list[Tensor]:
        """Tangents of the flat outputs: the derivative of the gradients with respect to their
        cotangents."""
        slots, gradients = self._transposed
        self._adopted(slots)
        create_graph = MODE.enabled and (self.tracked or any(t._rg for t in tangents))
        with recording():
            found = _gradients(gradients, slots, tangents, create_graph)
        return [self.inputs.settled(t) for t in found]

    @functools.cached_property
    def _transposed(self) -> tuple[list[Tensor], list[Tensor]]:
        slots = [_zeros_like(o) for o in self.outputs]
        for s in slots:
            s._rg = s._aval.differentiable
        self.inputs.fresh.update(map(id, slots))
        with recording():
            return slots, self.gradients(slots, True)


def _check_some(outputs: list[Tensor], what: str) -> None:
    if not outputs or (len(outputs) == 1 and outputs[0] is None):
        raise RuntimeError(
            f"{what}: Expected f to be a function that has non-empty output (got output = "
            f"{outputs})"
        )


def _check_differentiable(outputs: Sequence[Tensor]) -> None:
    for o in outputs:
        if not o._aval.differentiable:
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype {o.dtype}"
            )


@apart_with_function("torch.func.vjp")
def vjp(func: Callable[..., object], *primals: object, has_aux: bool = False) -> Any:
    """The value of ``func`` at ``primals``, and a function from cotangents of the value to a tuple
    of gradients of the primals.

    Raises:
        RuntimeError: if a result is no tensor of a floating-point or complex dtype.

    Example:
        >>> import jtorch as torch
        >>> out, vjp_fn = torch.func.vjp(lambda x: x * x, torch.tensor([1.0, 2.0]))
        >>> vjp_fn(torch.tensor([1.0, 10.0]))
        (tensor([ 2., 40.]),)
    """
    pull = _Pull(func, primals, has_aux, "vjp(f, *primals)")
    _check_differentiable(pull.outputs)

    @apart("torch.func.vjp")
    def vjp_fn(
        cotangents: tuple[Tensor, ...] | Tensor,
        retain_graph: bool = True,
        create_graph: bool | None = None,
    ) -> tuple[Tensor, ...]:
        flat, spec = flatten(cotangents)
        if spec != pull.out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {treespec_pprint(spec)}, primal output: "
                f"{treespec_pprint(pull.out_spec)}"
            )
        if create_graph is None:
            create_graph = MODE.enabled and (
                pull.tracked or any(isinstance(t, Tensor) and t._rg for t in flat)
            )
        del retain_graph  # the graph belongs to this function, and goes with it
        pull._adopted()
        with recording():
            found = pull.gradients(flat, create_graph)
        return pull.inputs.settled(unflatten(found, pull.spec))

    return (pull.value, vjp_fn, pull.aux) if has_aux else (pull.value, vjp_fn)


# ---- forward -------------------------------------------------------------------------------------


def _check_primals(primals: tuple[object, ...], what: str) -> list[Tensor]:
    """The flat primals.

    Raises:
        RuntimeError: if they are no tuple of tensors.
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{what}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    flat = flatten(primals)[0]
    if not flat:
        raise RuntimeError(f"{what}: Expected primals to contain at least one Tensor.")
    for x in flat:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{what}: Expected primals to only contain Tensors, got {type(x)}")
    return flat


#: Tangents of these dtypes give tangents of at least these.
_WIDE = (dtypes.float32, dtypes.float64)


def _widened(
    pair: tuple[Tensor, Tensor | None], wide: dtypes.dtype | None
) -> tuple[Tensor, Tensor | None]:
    """A value and its tangent, in the dtype that the tangents of the primals had if that is wider,
    as in torch."""
    value, tangent = pair
    if (
        wide is None
        or tangent is None
        or not value.dtype.is_floating_point
        or dtypes.promote_types(value.dtype, wide) is value.dtype
    ):
        return pair
    return value, tangent.to(wide)


@apart_with_function("torch.func.jvp")
def jvp(
    func: Callable[..., object],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """The value of ``func`` at ``primals``, and its derivative in the direction ``tangents``.

    Raises:
        RuntimeError: if primals and tangents do not fit, or a result is no tensor; with ``strict``,
            if one does not depend on the primals.

    Example:
        >>> import jtorch as torch
        >>> torch.func.jvp(
        ...     lambda x: x * x, (torch.tensor([1.0, 2.0]),), (torch.tensor([1.0, 10.0]),)
        ... )
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    return _jvp(func, primals, tangents, strict, has_aux, ())


def _jvp(
    func: Function,
    primals: tuple[object, ...],
    tangents: tuple[object, ...],
    strict: bool,
    has_aux: bool,
    given: Sequence[Tensor],
) -> tuple[object, ...]:
    """``jvp`` of a function that gets the tensors ``given`` beside its primals."""
    what = "jvp(f, primals, tangents)"
    if isinstance(primals, tuple) and flatten(primals)[1] != flatten(tangents)[1]:
        raise RuntimeError(
            f"{what}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {flatten(primals)[1]} and tangents with structure {flatten(tangents)[1]}"
        )
    flat = _check_primals(primals, what)
    directions = flatten(tangents)[0]
    for p, t in zip(flat, directions, strict=True):
        if not isinstance(t, Tensor):
            raise RuntimeError(f"{what}: Expected tangents to only contain Tensors, got {type(t)}")
        check_pair(p, t)
    others = Given(list(given))
    level, start = Level(), born()
    with level:
        duals = [entered(p, t, level, apart=True) for p, t in zip(flat, directions, strict=True)]
        for t in duals:
            t._birth = born()
        came = [x._read() for x in duals]
        wide = max((t.dtype for t in directions if t.dtype in _WIDE), key=_WIDE.index, default=None)
        with inside(start=start, given=others.tensors), FORWARD.set_to(True):
            found, aux = _split_aux(func(*unflatten(duals, flatten(primals)[1])), has_aux, what)
        outputs, spec = flatten(found)
        _check_some(outputs, what)
        for o in outputs:
            if not isinstance(o, Tensor):
                raise RuntimeError(
                    f"{what}: expected f(*primals) to return only tensors, got unsupported type "
                    f"{type(o)}"
                )
        pairs = [_widened(leave(o, level), wide) for o in outputs]
        if has_aux:
            flat_aux, aux_spec = flatten(aux)
            aux = unflatten(
                [leave(x, level)[0] if isinstance(x, Tensor) else x for x in flat_aux], aux_spec
            )
        written = [
            (p, t, leave(x, level))
            for p, t, x, v in zip(flat, directions, duals, came, strict=True)
            if x._read() is not v
        ]
        plain = [(t, leave(t, level)[0]) for t in others.written()]
    for t, value in plain:
        give_back(t, value)
    for p, t, (value, derivative) in written:
        give_back(p, value)
        give_back(t, _zeros_like(t) if derivative is None else derivative)
    if strict and any(t is None for _, t in pairs):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
            "This is not allowed with strict=True."
        )
    value = unflatten([p for p, _ in pairs], spec)
    derivative = unflatten([_zeros_like(p) if t is None else t for p, t in pairs], spec)
    return (value, derivative, aux) if has_aux else (value, derivative)


@apart_with_function("torch.func.linearize")
def linearize(func: Callable[..., object], *primals: object) -> tuple[Any, Callable[..., Any]]:
    """The value of ``func`` at ``primals``, and a function from tangents to the derivative there,
    which does not run ``func`` again.

    Example:
        >>> import jtorch as torch
        >>> out, jvp_fn = torch.func.linearize(lambda x: x * x, torch.tensor([1.0, 2.0]))
        >>> jvp_fn(torch.tensor([1.0, 10.0]))
        tensor([ 2., 40.])
    """
    what = "jvp(f, primals, tangents)"
    for x in _check_primals(primals, what):
        if not x._aval.differentiable:
            raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")
    pull = _Pull(func, primals, False, what, True)

    @apart("torch.func.linearize")
    def jvp_fn(*tangents: Tensor) -> Tensor:
        flat, spec = flatten(tangents)
        if spec != pull.spec:
            raise RuntimeError(
                f"Expected the tangents {spec} to have the same argspec as the primals {pull.spec}"
            )
        for i, (t, p) in enumerate(zip(flat, pull.inputs.tensors, strict=True)):
            for what in ("shape", "device", "dtype"):
                if getattr(t, what) != getattr(p, what):
                    raise RuntimeError(
                        f"tangent:{i} with {what} {getattr(t, what)} in flattened pytree doesn't "
                        f"match the {what} {getattr(p, what)} of the corresponding primal."
                    )
        return unflatten(pull.push(flat), pull.out_spec)

    return pull.value, jvp_fn


# ---- Jacobians -----------------------------------------------------------------------------------


def _basis(tensors: Sequence[Tensor]) -> list[Tensor]:
    """For each tensor, one direction for each element of all of them, along a new first
    dimension."""
    import jtorch

    total = sum(t.numel() for t in tensors)
    found = []
    at = 0
    for t in tensors:
        n = t.numel()
        with jtorch.no_grad():
            parts = [jtorch.zeros(at, n), jtorch.eye(n), jtorch.zeros(total - at - n, n)]
            found.append(jtorch.cat(parts).to(t.device, t.dtype).view(total, *t.shape))
        at += n
    return found


def _one_by_one(
    row: Callable[..., tuple[Tensor, ...]], directions: Sequence[Tensor]
) -> list[Tensor]:
    """What ``vmap`` would give, from a call for each direction."""
    import jtorch

    rows = [row(*direction) for direction in zip(*(d.unbind(0) for d in directions), strict=True)]
    return [jtorch.stack(column) for column in zip(*rows, strict=True)]


def _refuse_complex(what: str, tree: tuple[Tensor, ...] | list[Tensor], is_input: bool) -> None:
    for x in flatten(tree)[0]:
        if isinstance(x, Tensor) and x.dtype.is_complex:
            raise RuntimeError(
                f"{what}: Expected all {'inputs' if is_input else 'outputs'} to be real but "
                f"received complex tensor at flattened {'input' if is_input else 'output'} idx: "
                f"{next(i for i, y in enumerate(flatten(tree)[0]) if y is x)}"
            )


def _one_argument(
    func: Callable[..., object], argnums: tuple[int, ...] | int, args: tuple[Tensor, ...]
) -> tuple[Any, Callable[[Any], Any]]:
    chosen, replaced = _chosen(argnums, args)
    return chosen, lambda new: func(*replaced(new))


def jacrev(
    func: Callable[..., Any],
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``, by one backward walk with a batch of
    cotangents.

    Results have the structure of ``func``'s, with that of the arguments ``argnums`` at each leaf;
    leaves have the shape of the result followed by that of the argument. ``chunk_size`` bounds how
    many cotangents are walked at a time; with 1 there is no ``vmap``, so that backward functions
    may look at data.

    Example:
        >>> import jtorch as torch
        >>> torch.func.jacrev(lambda x: x * x)(torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")
    del _preallocate_and_copy  # how results are put together is the compiler's business

    def again(f: Callable[..., object], *args: object) -> Any:
        return jacrev(f, argnums, has_aux=has_aux, chunk_size=chunk_size)(*args)

    @functools.wraps(func)
    @apart("torch.func.jacrev", func, again, (argnums, has_aux, chunk_size))
    def wrapper(*args: Tensor) -> tuple[object, ...] | dict[str, object] | Tensor:
        _refuse_complex("jacrev", args, True)
        chosen, alone = _one_argument(func, argnums, args)
        pull = _Pull(
            alone, (chosen,), has_aux, "vjp(f, *primals)", given=given_beside(args, {}, chosen)
        )
        _check_differentiable(pull.outputs)
        _refuse_complex("jacrev", pull.outputs, False)
        outputs, inputs = pull.outputs, pull.inputs.tensors
        tracked = MODE.enabled and pull.tracked
        sizes = [o.numel() for o in outputs]

        def row(*cotangents: Tensor) -> tuple[Tensor, ...]:
            return tuple(pull.gradients(cotangents, tracked))

        with recording():
            if chunk_size == 1 and sum(sizes):
                rows = _one_by_one(row, _basis(outputs))
            else:
                rows = vmap(row, randomness="same", chunk_size=chunk_size)(*_basis(outputs))
        made = []
        for j, o in enumerate(outputs):
            start = sum(sizes[:j])
            blocks = [
                r.narrow(0, start, sizes[j]).reshape((*o.shape, *x.shape))
                for r, x in zip(rows, inputs, strict=True)
            ]
            made.append(unflatten([pull.inputs.settled(b) for b in blocks], pull.spec)[0])
        found = unflatten(made, pull.out_spec)
        return (found, pull.aux) if has_aux else found

    return wrapper


def jacfwd(
    func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``, by one forward walk with a batch of tangents.
    Results are as those of ``jacrev``.

    Example:
        >>> import jtorch as torch
        >>> torch.func.jacfwd(lambda x: x * x)(torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )

    def again(f: Callable[..., object], *args: object) -> Any:
        return jacfwd(f, argnums, has_aux, randomness=randomness)(*args)

    @functools.wraps(func)
    @apart("torch.func.jacfwd", func, again, (argnums, has_aux, randomness))
    def wrapper(*args: Tensor) -> tuple[object, ...] | dict[str, object] | Tensor:
        _refuse_complex("jacfwd", args, True)
        chosen, alone = _one_argument(func, argnums, args)
        inputs, spec = flatten(chosen)
        given = given_beside(args, {}, chosen)
        seen: dict[str, Any] = {}

        def push(*tangents: Tensor) -> tuple[Tensor, ...]:
            found = _jvp(alone, (chosen,), (unflatten(tangents, spec),), False, has_aux, given)
            outputs, seen["spec"] = flatten(found[0])
            _refuse_complex("jacfwd", outputs, False)
            seen["aux"] = found[2] if has_aux else None
            return tuple(flatten(found[1])[0])

        columns = vmap(push, randomness=randomness)(*_basis(inputs))
        sizes = [x.numel() for x in inputs]
        made = []
        for column in columns:
            blocks = []
            for j, x in enumerate(inputs):
                block = column.narrow(0, sum(sizes[:j]), sizes[j]).movedim(0, -1)
                blocks.append(block.reshape((*column.shape[1:], *x.shape)))
            made.append(unflatten(blocks, spec))
        found = unflatten(made, seen["spec"])
        return (found, seen["aux"]) if has_aux else found

    return wrapper


def hessian(func: Callable[..., object], argnums: object = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of ``func``: forward over reverse.

    Example:
        >>> import jtorch as torch
        >>> torch.func.hessian(lambda x: (x * x * x).sum())(torch.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor that a transformation's tensor stands for, to be looked at: all examples of a
    ``vmap``, a value without its tangent.

    With ``recurse`` that of all transformations around, else of the innermost.

    Raises:
        TypeError: for what is no tensor.

    Example:
        >>> import jtorch as torch
        >>> def f(x):
        ...     print(torch.func.debug_unwrap(x))
        ...     return 2 * x
        >>> _ = torch.vmap(f)(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"debug_unwrap(): argument 'tensor' must be Tensor, not {type(tensor).__name__}"
        )
    v: Any = tensor._read()
    if not MODE.transforms:
        return tensor
    while isinstance(v, Lifted):
        v = v.physical if hasattr(v, "physical") else v.primal
        if not recurse:
            break
    return from_value(v)
