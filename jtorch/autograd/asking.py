"""``autograd.grad`` and ``autograd.backward`` as programs call them: handlers of the operands are
asked before the walk begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import Tensor
from ..dispatch import ACTIVE, PLAIN, handle_torch_function, has_torch_function
from . import engine
from .grad_mode import MODE

if TYPE_CHECKING:
    from .._src.facts.kinds import Row, Tree


def _several(given: Tree) -> Row:
    """One operand, a sequence or a dictionary of them, as a tuple."""
    if given is None:
        return ()
    if hasattr(given, "__torch_function__") or isinstance(given, engine.GradientEdge):
        return (given,)
    return tuple(given.values()) if type(given) is dict else tuple(given)


def _kept(given: Tree) -> Tree:
    """What is given, an iterator of operands as a tuple: it is read here and by the engine, and can
    be read once."""
    return tuple(given) if hasattr(given, "__next__") else given


def _plain(given: Tree) -> bool:
    """Whether nobody among the operands has to be asked."""
    return type(given) in PLAIN or (
        type(given) in (list, tuple) and PLAIN.issuperset(map(type, given))
    )


def _check_inside(outputs: Tensor, inputs: Tensor, allow_unused: bool) -> None:
    """Raises torch's errors for gradients inside a function transformation: its graph is only what
    is made there."""
    if MODE.batching:
        _refuse_examples("output", outputs)
        _refuse_examples("input", inputs)
    for i, t in enumerate(_several(outputs)):
        if isinstance(t, Tensor) and MODE.transforms[-1] is None and hasattr(t._read(), "physical"):
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn"
            )
    for i, t in enumerate(_several(inputs)):
        transform = MODE.transforms[-1]
        if (
            isinstance(t, Tensor)
            and transform is not None
            and t._rg
            and not allow_unused
            and not transform.owns(t)
        ):
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )


def _refuse_examples(kind: str, given: object) -> None:
    """Raises the older ``vmap``'s error for operands that are one example of many."""
    for i, t in enumerate(_several(given)):
        if isinstance(t, Tensor) and hasattr(t._read(), "physical"):
            raise RuntimeError(
                "torch.autograd.grad(outputs, inputs, grad_outputs) called inside torch.vmap. We "
                f"do not support the case where any {kind}s are vmapped tensors ({kind} {i} is "
                "being vmapped over). Please call autograd.grad() outside torch.vmap or file a bug "
                "report with your use case."
            )


def backward(
    tensors: object,
    grad_tensors: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: object = None,
    inputs: object = None,
) -> None:
    """Asked about, then done by ``engine.backward``, whose documentation this function shows."""
    engine.refuse_inside()
    tensors, inputs = _kept(tensors), _kept(inputs)
    if ACTIVE.modes or not (_plain(tensors) and _plain(inputs)):
        tensors = roots = _several(tensors)
        targets = _several(inputs)
        inputs = None if inputs is None else targets
        operands = [t for t in (*roots, *targets) if hasattr(t, "__torch_function__")]
        if has_torch_function(operands):
            given = grad_tensors if grad_tensors is not None else grad_variables
            options = {
                "grad_tensors": given,
                "retain_graph": retain_graph,
                "create_graph": create_graph,
            }
            return handle_torch_function(
                backward, operands, roots, **options, inputs=None if inputs is None else targets
            )
    return engine.backward(
        tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs
    )


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Asked about, then done by ``engine.grad``, whose documentation this function shows."""
    if type(inputs) is dict:
        options = (
            grad_outputs,
            retain_graph,
            create_graph,
            only_inputs,
            allow_unused,
            is_grads_batched,
            materialize_grads,
        )
        return dict(zip(inputs, grad(outputs, tuple(inputs.values()), *options), strict=True))
    outputs, inputs = _kept(outputs), _kept(inputs)
    if MODE.transforms:
        _check_inside(outputs, inputs, allow_unused or materialize_grads)
    if ACTIVE.modes or not (_plain(outputs) and _plain(inputs)):
        # generators give what they have but once
        roots, targets = _several(outputs), _several(inputs)
        outputs, inputs = roots, targets
        operands = [t for t in (*roots, *targets) if hasattr(t, "__torch_function__")]
        if has_torch_function(operands):
            return handle_torch_function(
                grad,
                operands,
                roots,
                targets,
                grad_outputs=grad_outputs,
                retain_graph=retain_graph,
                create_graph=create_graph,
                only_inputs=only_inputs,
                allow_unused=bool(materialize_grads) if allow_unused is None else allow_unused,
                is_grads_batched=is_grads_batched,
                materialize_grads=materialize_grads,
            )
    return engine.grad(
        outputs,
        inputs,
        grad_outputs,
        retain_graph,
        create_graph,
        only_inputs,
        allow_unused,
        is_grads_batched,
        materialize_grads,
    )


for _asking, _done in ((backward, engine.backward), (grad, engine.grad)):
    _asking.__doc__ = _done.__doc__
    _asking.__module__ = "jtorch.autograd"
