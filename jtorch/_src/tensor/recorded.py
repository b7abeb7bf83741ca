"""What ``Tensor`` tells of its history: whether it is recorded, gradients, versions, and the same
data without history."""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import MODE
from ...autograd.nodes import shown
from ...dispatch import LAYOUTS
from .. import hooks
from ..engine import SPECIAL
from ..facts.warned_once import outside
from .aliases import DETACHED, UNCOUNTED, alias_of
from .cells import Alias, Counter
from .described import cpp_name
from .module_state import check_state
from .own_attributes import TensorBase
from .view_history import check_origin, refresh_history

if TYPE_CHECKING:
    from ...core import Tensor


@property
def _version(self: Tensor) -> int:
    """How often the data was changed in place, through this tensor or another on the same storage.

    Raises:
        RuntimeError: if the tensor was made in inference mode.

    Example:
        >>> import jtorch as torch
        >>> x = torch.zeros(2)
        >>> _ = x.add_(1)
        >>> x._version
        1
    """
    al = self._al
    found = self._ver if al is None else al.counter.n
    if found < 0:
        if found < DETACHED or (al is not None and al.base is not None):
            raise RuntimeError("Inference tensors do not track version counter.")
        return found - DETACHED
    return found


@property
def _writes(self: Tensor) -> int:
    """``_version`` where there is one, and below 0 otherwise (see ``UNCOUNTED``)."""
    al = self._al
    return self._ver if al is None else al.counter.n


@property
def _inference(self: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return self._writes < 0


def _uncount(self: Tensor) -> None:
    """Marks a tensor that nobody has seen yet as made in inference mode."""
    if self._al is None:
        self._ver = UNCOUNTED
    elif self._al.counter.n >= 0:
        self._al.counter.n = UNCOUNTED


def _written(self: Tensor, times: int) -> Tensor:
    """This new tensor, which shows ``times`` as its version: so often torch writes into what it is
    made in."""
    if self._writes >= 0:
        if self._al is None:
            self._ver = times
        else:
            self._al.counter.n = times
    return self


@property
def is_leaf(self: Tensor) -> bool:
    """Whether the tensor was made by the user rather than by a recorded operation.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> x.is_leaf, (2 * x).is_leaf
        (True, False)
    """
    if self._v is None and self._al is not None:
        self._sync()
        if self._al.origin is not None:
            self._check_origin()
    return self._node is None


@property
def grad_fn(self: Tensor) -> Any:
    """The node of the operation that made this tensor, or None.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> (2 * x).grad_fn.name(), x.grad_fn
        ('MulBackward0', None)
    """
    if self._v is None and self._al is not None:
        self._sync()
        if self._al.origin is not None:
            self._check_origin()
    node = self._node
    return None if node is None else shown(node)


@property
def output_nr(self: Tensor) -> int:
    """Which result of ``grad_fn`` this is.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> x.unbind()[1].output_nr
        1
    """
    return self._nr


@property
def requires_grad(self: Tensor) -> bool:
    """Whether operations on this tensor are recorded, so that gradients reach it.

    Raises:
        RuntimeError: on setting, if the tensor is not floating-point or complex, or is no leaf and
            shall stop to require grad.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0])
        >>> x.requires_grad = True
        >>> (2 * x).requires_grad
        True
    """
    if self._v is None and self._al is not None:
        self._sync()
    return self._rg


@requires_grad.deleter
def requires_grad(self: Tensor) -> None:
    raise RuntimeError("requires_grad must be a bool")


@requires_grad.setter
def requires_grad(self: Tensor, value: bool) -> None:
    if not isinstance(value, bool):
        raise RuntimeError(f"requires_grad must be a bool, got {type(value).__name__}")
    if self._node is not None and not value:
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. If you want to use a "
            "computed variable in a subgraph that doesn't require differentiation use var_no_grad "
            "= var.detach()."
        )
    if value and not self._aval.differentiable:
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    if value and self._inference and not MODE.inference:
        raise RuntimeError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
        )
    self._rg = value
    self._borrowed = False
    if self._lent and not value:
        give_back(self)
    if value and MODE.transforms:
        adopted(self)


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Sets ``requires_grad`` in place and returns the tensor.

    Args:
        requires_grad: whether autograd is to record what is done with the tensor.

    Raises:
        RuntimeError: as setting ``requires_grad``.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1.0]).requires_grad_()
        tensor([1.], requires_grad=True)
    """
    if MODE.transforms:
        raise RuntimeError(
            inside_transform(
                "Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs)"
            )
        )
    if requires_grad and not self._aval.differentiable:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    self.requires_grad = requires_grad
    return self


def _sync(self: Tensor) -> None:
    """Brings a view's history up to date with its base's."""
    al = self._al
    base = al.base
    if base is not None and base._rg:
        if al.gen != al.counter.n and al.origin is None:
            refresh_history(self, al)
            if self._retains and self._node is not None:
                hooks.retain(self)
        elif not self._rg and self._aval.differentiable and not base._inference:
            # The base was told to require grad after this view was made: torch says that the view
            # does too, and gives it no gradient.
            self._rg = self._borrowed = True
            base._lent = (*[ref for ref in base._lent if ref() is not None], weakref.ref(self))


def give_back(base: Tensor) -> None:
    """Ends what views of ``base`` that were made before it required grad have of it, now that it
    does not any more."""
    for ref in base._lent:
        if (view := ref()) is not None and view._borrowed:
            view._rg = view._borrowed = False
    base._lent = ()


def _check_origin(self: Tensor) -> None:
    """Raises torch's error for views whose history cannot follow a change of their base."""
    check_origin(self, self._al)


@property
def grad(self: Tensor) -> Any:
    """The gradient that ``backward`` has accumulated, or None.

    Raises:
        TypeError, RuntimeError: on setting, unless it is None or a tensor of the same shape, dtype
            and device.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor([6.])
    """
    if self._node is not None and not self._retains and self._grad is None:
        warnings.warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
            ".grad attribute won't be populated during autograd.backward(). If you indeed want the "
            ".grad field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf "
            "Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
            "Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more informations.",
            stacklevel=outside(),
        )
    return self._grad


@grad.setter
def grad(self: Tensor, value: Tensor | None) -> None:
    if value is not None:
        if not isinstance(value, TensorBase):
            raise TypeError(
                "assigned grad expected to be a Tensor or None but got grad of type "
                f"{type(value).__name__}"
            )
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        mine, its = self._aval, value._aval
        kind: Any = mine.torch_dtype if self._grad_kind is None else self._grad_kind
        if its.torch_dtype is not kind if kind else its.dtype != mine.dtype and kind is None:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{cpp_name(its)}' to a tensor with "
                f"grad_dtype '{kind.scalar_name if kind else mine.dtype}'. "
                "The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). "
                "You can set the tensor's grad_dtype attribute with a specific dtype, or None to "
                "allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor "
                "and its gradient may break downstream systems that assume they match."
            )
        if its.device != mine.device:
            raise RuntimeError(
                f"attempting to assign a gradient with device type '{value.device.type}' to a "
                f"tensor with device type '{self.device.type}'. Please ensure that the gradient "
                "and the tensor are on the same device"
            )
        if its.shape != mine.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(its.shape)}' to a tensor of size "
                f"'{list(mine.shape)}'. Please ensure that the gradient and the tensor are the "
                "same size"
            )
    self._grad = value


@grad.deleter
def grad(self: Tensor) -> None:
    self._grad = None


@property
def data(self: Tensor) -> Tensor:
    """The same data without history: changes are seen in both, and not by the version check.

    Raises:
        TypeError: on setting, if it is no tensor.
        RuntimeError: on setting, if the tensor requires grad and the data has no floating-point or
            complex dtype.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> _ = x.data.mul_(5)
        >>> x
        tensor([5.], requires_grad=True)
    """
    made = self._detached()
    made._al.counter = Counter(count_apart(self))
    return made


@data.deleter
def data(self: Tensor) -> None:
    raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")


@data.setter
def data(self: Tensor, value: Tensor) -> None:
    if not isinstance(value, TensorBase):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if type(value) in LAYOUTS and type(self) not in LAYOUTS:
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
            "incompatible tensor type."
        )
    if self._rg and not value._aval.differentiable:
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
        )
    if self._state and value._v is not None and value._v.trace is SPECIAL:
        check_state(self, value._v)
    version = self._writes
    counter = Counter(version, True) if self._al is None else self._al.counter
    source = value._detached()
    if (
        source._al is not None
        and source._al.storage.host is None
        and not source._al.chain
        and value._al is not None
    ):
        self._al, self._v, self._strides = source._al, None, source._strides
    else:
        al = alias_of(value)
        mine = Alias(al.storage, al.chain, al.value, None, 0, al.offset)
        mine.version, mine.aval, mine.strides = al.version, al.aval, al.strides
        self._al, self._v, self._strides = mine, None, value._strides
    # the count is the tensor's, and that of the views that it had, not its data's
    if version >= 0 and value._writes >= 0:
        counter.heeded = True
        self._al.counter = counter


def adopted(t: Tensor) -> None:
    """Tells running function transformations that a leaf was made inside them."""
    for transform in MODE.transforms:
        if transform is not None:
            transform.adopt(t)


def inside_transform(what: str) -> str:
    """torch's words for what cannot be done inside a function transformation."""
    short = what.partition(" (")[0].rpartition(".")[2]
    return (
        f"You are attempting to call {what} inside of a function being transformed by a functorch "
        "transform. This is unsupported, please attempt to use the functorch transforms (e.g. "
        f"grad, vjp, jacrev, jacfwd, hessian) or call {short} outside of a function being "
        "transformed instead."
    )


def count_apart(t: Tensor) -> int:
    """Where a tensor without history on the data of ``t`` begins to count its changes, if it does
    so by itself."""
    return 0 if not t._inference else UNCOUNTED if MODE.inference else DETACHED
