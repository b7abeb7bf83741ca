"""Instance normalization."""

from __future__ import annotations

import warnings

from jtorch import Tensor

from ..._src.facts.warned_once import outside
from ...types import Device, _dtype
from .. import functional as F
from .batchnorm import _expect, _LazyNormBase, _NormBase
from .lazy import documented

__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d",
    "LazyInstanceNorm2d", "LazyInstanceNorm3d",
]  # fmt: skip


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device = None,
        dtype: _dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _get_no_batch_dim(self) -> int:
        raise NotImplementedError

    def _handle_no_batch_input(self, input: Tensor) -> Tensor:
        return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        use_input = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            use_input,
            momentum,
            self.eps,
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
        if local_metadata.get("version") is None and not self.track_running_stats:
            found = [
                prefix + name
                for name in ("running_mean", "running_var")
                if prefix + name in state_dict
            ]
            if found:
                names, kind = " and ".join(f'"{k}"' for k in found), type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {kind} with "
                    "track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, "
                    f"this may be expected because {kind} does not track running stats by default "
                    "since 0.4.0. Please remove these keys from state_dict. If the running stats "
                    f"are actually needed, instead set track_running_stats=True in {kind} to "
                    f"enable them. See the documentation of {kind} for details."
                )
                for key in found:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input: Tensor) -> Tensor:
        """``(N, num_features, *)`` or ``(num_features, *)`` -> the same shape."""
        self._check_input_dim(input)
        unbatched = self._get_no_batch_dim()
        dim = input.dim() - unbatched
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features "
                    f"({self.num_features}), but got: {input.size(dim)}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False",
                stacklevel=outside(),
            )
        if input.dim() == unbatched:
            return self._handle_no_batch_input(input)
        return self._apply_instance_norm(input)


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each channel of each sample over its length, with the sample's statistics unless
    running ones are tracked.

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

    Shapes: ``input (N, num_features, L)`` or ``(num_features, L)`` -> the same. Source: Ulyanov et
    al. (2016).
    """

    def _get_no_batch_dim(self) -> int:
        return 2

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 2, 3)


@documented
class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm1d`` whose ``num_features`` is taken from the first input."""

    cls_to_become = InstanceNorm1d

    def _get_no_batch_dim(self) -> int:
        return 2

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalizes each channel of each sample over two dimensions, like ``InstanceNorm1d``.
    Shapes: ``(N, num_features, H, W)``.

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

    def _get_no_batch_dim(self) -> int:
        return 3

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 3, 4)


@documented
class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm2d`` whose ``num_features`` is taken from the first input."""

    cls_to_become = InstanceNorm2d

    def _get_no_batch_dim(self) -> int:
        return 3

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalizes each channel of each sample over three dimensions, like ``InstanceNorm1d``.
    Shapes: ``(N, num_features, D, H, W)``.

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

    def _get_no_batch_dim(self) -> int:
        return 4

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 4, 5)


@documented
class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm3d`` whose ``num_features`` is taken from the first input."""

    cls_to_become = InstanceNorm3d

    def _get_no_batch_dim(self) -> int:
        return 4

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 4, 5)
