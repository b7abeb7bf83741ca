"""What a backward pass comes by, written to a log."""

from __future__ import annotations

import logging

import jtorch as torch
from jtorch.autograd.graph import register_multi_grad_hook

log = logging.getLogger(__name__.replace("jtorch", "torch", 1))


def _rank() -> int:
    distributed = torch.distributed
    return (
        distributed.get_rank() if distributed.is_available() and distributed.is_initialized() else 0
    )


def debug_grad_log(*tensors: torch.Tensor) -> None:
    """Has the norms of the gradients of tensors logged when the backward pass has computed all of
    them.

    One line at the level of information, in the logger ``torch.utils.debug_log``:
    ``[rank 0][bwd] t0_grad_norm=1.0000 ...``, numbered among those that require a gradient. A
    gradient that a backward pass does not reach is ``none``, where PyTorch raises
    ``AttributeError``.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.utils.debug_log import debug_grad_log
        >>> x = torch.ones(3, requires_grad=True)
        >>> debug_grad_log(x)
        >>> x.sum().backward()
    """
    watched = [t for t in tensors if isinstance(t, torch.Tensor) and t.requires_grad]
    if not watched:
        return

    def write(grads: object) -> None:
        assert isinstance(grads, (tuple, list))
        norms = (
            f"t{i}_grad_norm=" + ("none" if g is None else f"{g.norm().item():.4f}")
            for i, g in enumerate(grads)
        )
        log.info("[rank %d][bwd] %s", _rank(), " ".join(norms))

    register_multi_grad_hook(watched, write)
