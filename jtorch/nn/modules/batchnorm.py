"""Batch normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor

from ...types import Device, _dtype
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin, documented
from .module import Module

if TYPE_CHECKING:
    from ..._src.facts.kinds import Operand


__all__ = [
    "BatchNorm1d",
    "LazyBatchNorm1d",
    "BatchNorm2d",
    "LazyBatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """What batch and instance normalization share: affine parameters, running statistics and their
    loading."""

    _version = 2  # since version 2 there is num_batches_tracked
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: _dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(
                name,
                Parameter(torch.empty(num_features, device=device, dtype=dtype))
                if wanted
                else None,
            )
        if track_running_stats:
            self.register_buffer(
                "running_mean", torch.zeros(num_features, device=device, dtype=dtype)
            )
            self.register_buffer(
                "running_var", torch.ones(num_features, device=device, dtype=dtype)
            )
            self.register_buffer(
                "num_batches_tracked", torch.tensor(0, dtype=torch.long, device=device)
            )
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forgets the batches seen: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forgets the batches seen; weight 1, bias 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, object],
        prefix: str,
        local_metadata: dict[str, int],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            tracked = self.num_batches_tracked
            state_dict[key] = (
                tracked
                if tracked is not None and not tracked.is_meta
                else torch.tensor(0, dtype=torch.long)
            )
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: _dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _arguments(self, input: Tensor) -> tuple[Operand, ...]:
        """Counts the batch and returns the arguments of the functional form: batch statistics in
        training or if none are kept."""
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain average of all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        mean, var = self.running_mean, self.running_var
        use_batch = self.training or (mean is None and var is None)
        if self.training and not self.track_running_stats:
            mean = var = None
        return input, mean, var, self.weight, self.bias, use_batch, momentum, self.eps

    def forward(self, input: Tensor) -> Tensor:
        """``(N, num_features, *)`` -> the same shape."""
        self._check_input_dim(input)
        return F.batch_norm(*self._arguments(input))


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """What the lazy forms share: ``num_features`` comes from the first input."""

    weight: UninitializedParameter
    bias: UninitializedParameter

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: _dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        # nothing is made before the first input
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.long, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Makes parameters and statistics for ``input``."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        made = [self.weight, self.bias] if self.affine else []
        if self.track_running_stats:
            made += [self.running_mean, self.running_var]
        for tensor in made:
            if tensor is not None:
                tensor.materialize((self.num_features,))
        self.reset_parameters()


def _expect(input: Tensor, *dims: int) -> None:
    if input.dim() not in dims:
        raise ValueError(
            f"expected {' or '.join(f'{d}D' for d in dims)} input (got {input.dim()}D input)"
        )


class BatchNorm1d(_BatchNorm):
    """Normalizes each feature over the batch: ``(x - mean) / sqrt(var + eps) * weight + bias``.

    In training, mean and biased variance are the batch's, and the running ones move by ``momentum``
    towards them (None: the plain average, and the variance unbiased); in evaluation the running
    ones are used.

    Args:
        num_features: the number of channels, C.
        eps: added to the variance.
        momentum: how much of the new mean and variance enters the running ones; None for a plain
            average of all.
        affine: whether there is a weight, and a bias, for each channel.
        track_running_stats: whether running means and variances are kept, and used in evaluation.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
        bias: whether the affine part has a bias.

    Shapes: ``input (N, num_features)`` or ``(N, num_features, L)`` -> the same. Source: Ioffe and
    Szegedy (2015).
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 2, 3)


@documented
class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A ``BatchNorm1d`` whose ``num_features`` is taken from the first input."""

    cls_to_become = BatchNorm1d

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalizes each channel over the batch and two dimensions, like ``BatchNorm1d``.
    Shapes: ``input (N, num_features, H, W)``.

    Args:
        num_features: the number of channels, C.
        eps: added to the variance.
        momentum: how much of the new mean and variance enters the running ones; None for a plain
            average of all.
        affine: whether there is a weight, and a bias, for each channel.
        track_running_stats: whether running means and variances are kept, and used in evaluation.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
        bias: whether the affine part has a bias.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 4)


@documented
class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A ``BatchNorm2d`` whose ``num_features`` is taken from the first input."""

    cls_to_become = BatchNorm2d

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 4)


class BatchNorm3d(_BatchNorm):
    """Normalizes each channel over the batch and three dimensions, like ``BatchNorm1d``.
    Shapes: ``input (N, num_features, D, H, W)``.

    Args:
        num_features: the number of channels, C.
        eps: added to the variance.
        momentum: how much of the new mean and variance enters the running ones; None for a plain
            average of all.
        affine: whether there is a weight, and a bias, for each channel.
        track_running_stats: whether running means and variances are kept, and used in evaluation.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
        bias: whether the affine part has a bias.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 5)


@documented
class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A ``BatchNorm3d`` whose ``num_features`` is taken from the first input."""

    cls_to_become = BatchNorm3d

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 5)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over all processes of a group.

    With one process, or in evaluation, it is ordinary batch normalization.

    Args:
        num_features: the number of channels, C.
        eps: added to the variance.
        momentum: how much of the new mean and variance enters the running ones; None for a plain
            average of all.
        affine: whether there is a weight, and a bias, for each channel.
        track_running_stats: whether running means and variances are kept, and used in evaluation.
        process_group: the processes whose batches count as one; all if None.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
        bias: whether the affine part has a bias.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Device = None,
        dtype: _dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _check_non_zero_input_channels(self, input: Tensor) -> None:
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        """``(N, num_features, *)`` -> the same shape."""
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        distributed = getattr(torch, "distributed", None)
        if (
            self.training
            and distributed is not None
            and distributed.is_available()
            and distributed.is_initialized()
        ):
            size = distributed.get_world_size(self.process_group or distributed.group.WORLD)
            if size > 1:
                return self._together(input)
        return F.batch_norm(*self._arguments(input))

    def _together(self, input: Tensor) -> Tensor:
        """Normalizes by the mean and variance of all processes' inputs, whose gradients take part,
        too."""
        from jtorch.distributed.nn.functional import all_reduce

        _, _, _, weight, bias, _, factor, eps = self._arguments(input)
        wide = input.to(torch.float32) if input.dtype in (torch.float16, torch.bfloat16) else input
        dims = [0, *range(2, input.dim())]
        count = torch.full(
            (1,), input.numel() // input.size(1), dtype=wide.dtype, device=input.device
        )
        sums = all_reduce(torch.cat([wide.sum(dims), count]), group=self.process_group)
        total = sums[-1].detach()
        mean = sums[:-1] / total
        shape = [1, -1] + [1] * (input.dim() - 2)
        centred = wide - mean.reshape(shape)
        variance = all_reduce(centred.square().sum(dims), group=self.process_group) / total
        if self.running_mean is not None and self.running_var is not None:
            with torch.no_grad():
                self.running_mean.lerp_(mean.to(self.running_mean.dtype), factor)
                self.running_var.lerp_(
                    (variance * total / (total - 1)).to(self.running_var.dtype), factor
                )
        result = centred * torch.rsqrt(variance + eps).reshape(shape)
        if weight is not None:
            result = result * weight.reshape(shape)
        if bias is not None:
            result = result + bias.reshape(shape)
        return result.to(input.dtype)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """``module`` with every batch normalization in it replaced by a ``SyncBatchNorm`` with the
        same tensors."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                with torch.no_grad():
                    converted.weight = module.weight
                    converted.bias = module.bias
            converted.running_mean = module.running_mean
            converted.running_var = module.running_var
            converted.num_batches_tracked = module.num_batches_tracked
            converted.training = module.training
            if "qconfig" in module.__dict__:
                converted.qconfig = module.qconfig
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted
