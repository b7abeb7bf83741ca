"""Optimisers that are given gradients instead of reading ``grad``: each holds one of
``torch.optim`` for every parameter it has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jtorch as torch
from jtorch import Tensor, optim


class _Functional:
    """An optimiser of one class whose steps get the gradients.

    Args:
        params: what ``step`` updates; empty only with ``_allow_empty_param_list``, for
            ``step_param`` alone.

    Raises:
        ValueError: for no parameters, and what the optimiser itself refuses.
    """

    _of: type[optim.Optimizer]

    def __init__(
        self,
        params: Sequence[Tensor],
        *args: Any,
        _allow_empty_param_list: bool = False,
        **kwargs: Any,
    ) -> None:
        if not args and self._of is optim.SGD:
            kwargs.setdefault("lr", 1e-2)  # ten times that of ``torch.optim.SGD``, as in PyTorch
        self._given = args, kwargs
        # and its checks of them
        self.defaults = self._of([torch.zeros(1)], *args, **kwargs).defaults
        if len(params) == 0 and not _allow_empty_param_list:
            raise ValueError("optimizer got an empty parameter list")
        self.param_group: dict[str, Any] = {"params": list(params)}
        self._each: dict[Tensor, optim.Optimizer] = {}

    @property
    def state(self) -> dict[Tensor, Any]:
        """What the optimiser keeps for each parameter."""
        return {param: one.state[param] for param, one in self._each.items()}

    def step_param(self, param: Tensor, grad: Tensor | None) -> None:
        """Updates one parameter with its gradient; none leaves it as it is."""
        if grad is None:
            return
        one = self._each.get(param)
        if one is None:
            one = self._each[param] = self._of([param], *self._given[0], **self._given[1])
        kept = param.grad
        param.grad = grad
        try:
            one.step()
        finally:
            param.grad = kept

    def step(self, gradients: Sequence[Tensor | None]) -> None:
        """Updates the parameters with as many gradients.

        Raises:
            ValueError: for another number of them.
        """
        params = self.param_group["params"]
        if len(params) != len(gradients):
            raise ValueError(
                "the gradients passed in does not equal to the size of the parameters!"
                f"Params length: {len(params)}. Gradients length: {len(gradients)}"
            )
        for param, grad in zip(params, gradients, strict=True):
            self.step_param(param, grad)


def _functional(of: type[optim.Optimizer]) -> type[_Functional]:
    return type(
        f"_Functional{of.__name__}",
        (_Functional,),
        {"_of": of, "__module__": __name__, "__doc__": _Functional.__doc__},
    )


#: The functional optimiser of each class.
functional_optim_map: dict[Any, Any] = {
    of: _functional(of)
    for of in (
        optim.Adagrad,
        optim.Adam,
        optim.AdamW,
        optim.SGD,
        optim.Adadelta,
        optim.RMSprop,
        optim.Rprop,
        optim.Adamax,
    )
}

# Under the names that PyTorch has for them.
globals().update({found.__name__: found for found in functional_optim_map.values()})


def register_functional_optim(key: object, optim: object) -> None:
    """Enters a functional optimiser under a key, unless there is one."""
    functional_optim_map.setdefault(key, optim)


def as_functional_optim(optim_cls: type, *args: object, **kwargs: object) -> Any:
    """The functional optimiser of a class, without parameters: for ``step_param``.

    Raises:
        ValueError: for a class that has none.
    """
    if optim_cls not in functional_optim_map:
        raise ValueError(f"Optimizer {optim_cls} does not have a functional counterpart!")
    return functional_optim_map[optim_cls]([], *args, **kwargs, _allow_empty_param_list=True)
