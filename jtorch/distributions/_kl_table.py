"""Which function computes that of a pair of distributions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import total_ordering
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor, inf

from .distribution import Distribution

if TYPE_CHECKING:
    from .._src.facts.kinds import Function


#: Functions by pairs of classes.
_KL_REGISTRY: dict[tuple[type, type], Callable[..., object]] = {}
#: What was found for pairs that were asked for.
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """A decorator: the function computes ``kl_divergence`` of ``type_p`` and ``type_q`` and what
    derives from them.

    Of several pairs that fit, the most specific is taken; if that depends on which of the two is
    looked at first, the first operand decides and a warning says so.

    Raises:
        TypeError: for what is no class.
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def register(function: Callable[..., object]) -> Function:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


@total_ordering
class _Match:
    """Classes that fit, ordered lexicographically: the more specific is less."""

    __slots__ = ("types",)

    def __init__(self, *types: type) -> None:
        self.types = types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Match) and self.types == other.types

    def __le__(self, other: _Match) -> bool:
        for mine, its in zip(self.types, other.types, strict=True):
            if not issubclass(mine, its):
                return False
            if mine is not its:
                return True
        return True


def _dispatch_kl(type_p: type, type_q: type) -> Function:
    """The function for two classes, or NotImplemented."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return NotImplemented
    by_p = min(_Match(p, q) for p, q in matches).types
    by_q = min(_Match(q, p) for p, q in matches).types[::-1]
    left, right = _KL_REGISTRY[by_p[0], by_p[1]], _KL_REGISTRY[by_q[0], by_q[1]]
    if left is not right:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=2,
        )
    return left


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence ``E_p[log p(x) - log q(x)]``, one for each distribution of
    the batch.

    Raises:
        NotImplementedError: if no function is registered for the pair.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.distributions import Normal, kl_divergence
        >>> kl_divergence(
        ...     Normal(torch.tensor(0.0), torch.tensor(1.0)),
        ...     Normal(torch.tensor(1.0), torch.tensor(1.0)),
        ... )
        tensor(0.5000)
    """
    try:
        function = _KL_MEMOIZE[type(p), type(q)]
    except KeyError:
        function = _KL_MEMOIZE[type(p), type(q)] = _dispatch_kl(type(p), type(q))
    if function is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type "
            f"{q.__class__.__name__}"
        )
    return function(p, q)


# ---- what the functions share --------------------------------------------------------------------


def _infinite_like(tensor: Tensor) -> Tensor:
    return torch.full_like(tensor, inf)


def _x_log_x(tensor: Tensor) -> Tensor:
    return torch.special.xlogy(tensor, tensor)


def _batch_trace_XXT(bmat: Tensor) -> Tensor:
    """The traces of ``X @ X.T``: the sums of all squares."""
    return bmat.reshape(bmat.shape[:-2] + (-1,)).pow(2).sum(-1)


register_kl.__module__ = kl_divergence.__module__ = f"{__package__}.kl"
