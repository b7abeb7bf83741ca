"""Modules that look at values as they pass, and tell the scale and zero point for them.

An observer gives its input unchanged; ``calculate_qparams()`` gives two tensors, scale and zero
point, for the range that it has seen.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals

from ._histogram import HistogramObserver as HistogramObserver
from ._observer_bases import _EPS, _options
from ._observer_bases import ObserverBase as ObserverBase
from ._observer_bases import UniformQuantizationObserverBase as UniformQuantizationObserverBase
from ._partials import _PartialWrapper as _PartialWrapper
from ._partials import _with_args as _with_args
from ._partials import _with_callable_args as _with_callable_args


class MinMaxObserver(UniformQuantizationObserverBase):
    """Notes the least and the largest value of all that passes.

    Args:
        dtype: the dtype that the grid is for; the others as in its base.

    Raises:
        NotImplementedError: for schemes with a grid for each channel.

    Examples:
        >>> import jtorch as torch
        >>> observer = torch.ao.quantization.MinMaxObserver(dtype=torch.qint8)
        >>> _ = observer(torch.tensor([-1.0, 0.5]))
        >>> observer.min_val, observer.max_val
        (tensor(-1.), tensor(0.5000))
        >>> scale, zero_point = observer.calculate_qparams()
        >>> scale, zero_point
        (tensor([0.0059]), tensor([42], dtype=torch.int32))
    """

    min_val: torch.Tensor
    max_val: torch.Tensor

    def __init__(
        self,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: Any = None,
        quant_max: Any = None,
        factory_kwargs: Any = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if qscheme not in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric and "
                "torch.per_tensor_affine."
            )
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic,
            **kwargs,
        )  # fmt: skip
        options = _options(factory_kwargs)
        self.register_buffer("min_val", torch.tensor(float("inf"), **options))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **options))
        if self.qscheme is torch.per_tensor_symmetric and reduce_range and dtype is torch.quint8:
            raise NotImplementedError(
                "Cannot reduce range for symmetric                                        "
                "quantization for quint8"
            )

    def forward(self, x_orig: torch.Tensor) -> torch.Tensor:
        """Widens the range by a value's, and gives the value back."""
        if x_orig.numel() == 0:
            return x_orig
        low, high = torch.aminmax(x_orig.detach().to(self.min_val.dtype))
        self._note(low, high)
        return x_orig

    def _note(self, low: torch.Tensor, high: torch.Tensor) -> None:
        self.min_val.copy_(torch.min(low, self.min_val))
        self.max_val.copy_(torch.max(high, self.max_val))

    def calculate_qparams(self) -> Any:
        """Scale and zero point for the range."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        """The range."""
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forgets what was seen."""
        self.min_val.copy_(torch.tensor(float("inf")))
        self.max_val.copy_(torch.tensor(float("-inf")))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Running averages of the least and the largest values.

    Args:
        averaging_constant: how much of the average a new value makes up.
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: Any = None,
        quant_max: Any = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if qscheme not in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            raise NotImplementedError(
                "MovingAverageMinMaxObserver's qscheme only support "
                f"torch.per_tensor_symmetric and torch.per_tensor_affine.             but got: "
                f"{qscheme}"
            )
        self.averaging_constant = averaging_constant
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                "MovingAverageMinMaxObserver doesn't support dynamic quantization for "
                f"averaging constant of {averaging_constant}"
            )
        super().__init__(
            dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min,
            quant_max=quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs,
        )  # fmt: skip

    def _note(self, low: torch.Tensor, high: torch.Tensor) -> None:
        first = (self.min_val == float("inf")) & (self.max_val == float("-inf"))
        share = self.averaging_constant
        # (of infinity nothing may be taken)
        old_low, old_high = (
            torch.where(first, low, self.min_val),
            torch.where(first, high, self.max_val),
        )
        self.min_val.copy_(old_low + share * (low - old_low))
        self.max_val.copy_(old_high + share * (high - old_high))


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Notes the least and the largest value of each channel.

    Args:
        ch_axis: the dimension of channels.

    Raises:
        NotImplementedError: for schemes with one grid, and for dynamic quantisation.
    """

    min_val: torch.Tensor
    max_val: torch.Tensor

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_channel_affine,
        reduce_range: bool = False,
        quant_min: Any = None,
        quant_max: Any = None,
        factory_kwargs: Any = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if qscheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support "
                "torch.per_channel_symmetric, torch.per_channel_affine and "
                "torch.per_channel_affine_float_qparams."
            )
        if is_dynamic:
            raise NotImplementedError(
                "PerChannelMinMaxObserver doesn't support dynamic quantization"
            )
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic,
            **kwargs,
        )  # fmt: skip
        self.ch_axis = ch_axis
        options = _options(factory_kwargs)
        self.register_buffer("min_val", torch.tensor([], **options))
        self.register_buffer("max_val", torch.tensor([], **options))
        if qscheme is torch.per_channel_symmetric and reduce_range and dtype is torch.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    def forward(self, x_orig: torch.Tensor) -> torch.Tensor:
        """Widens the channels' ranges by a value's, and gives the value back."""
        if x_orig.numel() == 0:
            return x_orig
        rows = x_orig.detach().movedim(self.ch_axis, 0).to(self.min_val.dtype).flatten(1)
        low, high = torch.aminmax(rows, dim=1)
        if self.min_val.numel():
            low, high = self._both(low, high)
        self._set(low, high)
        return x_orig

    def _both(self, low: torch.Tensor, high: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.min(low, self.min_val), torch.max(high, self.max_val)

    def _set(self, low: torch.Tensor, high: torch.Tensor) -> None:
        for buffer, value in ((self.min_val, low), (self.max_val, high)):
            buffer.resize_(value.shape)
            buffer.copy_(value)

    def calculate_qparams(self) -> Any:
        """Scales and zero points for the ranges."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        """The ranges."""
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        version = local_metadata.get("version", None)
        old = version is not None and version < 3
        for name, older in (("min_val", "min_vals"), ("max_val", "max_vals")):
            key = prefix + name
            if old and prefix + older in state_dict:
                state_dict[key] = state_dict.pop(prefix + older)
            if key in state_dict:
                getattr(self, name).resize_(state_dict[key].shape)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def reset_min_max_vals(self) -> None:
        """Forgets what was seen."""
        self.min_val = torch.rand(0)
        self.max_val = torch.rand(0)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Running averages of the least and the largest values of each channel.

    Args:
        averaging_constant: how much of the average a new value makes up.
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        ch_axis: int = 0,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_channel_affine,
        reduce_range: bool = False,
        quant_min: Any = None,
        quant_max: Any = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            ch_axis=ch_axis, dtype=dtype, qscheme=qscheme, reduce_range=reduce_range,
            quant_min=quant_min, quant_max=quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs,
        )  # fmt: skip
        self.averaging_constant = averaging_constant

    def _both(self, low: torch.Tensor, high: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        share = self.averaging_constant
        return (
            self.min_val + share * (low - self.min_val),
            self.max_val + share * (high - self.max_val),
        )


class FixedQParamsObserver(ObserverBase):
    """Tells the scale and zero point that it was given.

    Args:
        scale: the scale.
        zero_point: the zero point.
    """

    scale: torch.Tensor
    zero_point: torch.Tensor

    def __init__(
        self,
        scale: float,
        zero_point: int,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max = quant_min, quant_max
        self.register_buffer("scale", torch.tensor([scale], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.int))
        self.dtype, self.qscheme = dtype, qscheme

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """The value."""
        return X

    def calculate_qparams(self) -> Any:
        """What was given."""
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Looks at nothing, and only tells a dtype: for what is quantised as it comes.

    Args:
        dtype: the dtype.
        is_dynamic: whether values are to be quantised as they come.
    """

    def __init__(
        self,
        dtype: Any = torch.float32,
        custom_op_name: str = "",
        compute_dtype: Any = None,
        quant_min: Any = None,
        quant_max: Any = None,
        qscheme: Any = None,
        eps: Any = None,
        is_dynamic: bool = False,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = torch.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps = quant_min, quant_max, eps
        self.custom_op = custom_op_name
        if compute_dtype:
            self.is_dynamic = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The value."""
        return x

    def extra_repr(self) -> str:
        """The dtype."""
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self) -> Any:
        """Is not to be called.

        Raises:
            Exception: always.
        """
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")


class RecordingObserver(ObserverBase):
    """Keeps every value that passes in ``tensor_val``."""

    def __init__(self, dtype: Any = torch.quint8) -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val: list[Any] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Keeps a copy, and gives the value back."""
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self) -> Any:
        """Is not to be called.

        Raises:
            Exception: always.
        """
        raise Exception("calculate_qparams should not be called for RecordingObserver")

    def get_tensor_value(self) -> list[Any]:
        """What has passed."""
        return self.tensor_val


class NoopObserver(ObserverBase):
    """Looks at nothing; what it stands at is converted to its dtype."""

    def __init__(self, dtype: Any = torch.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.dtype, self.custom_op = dtype, custom_op_name

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The value."""
        return x

    def calculate_qparams(self) -> Any:
        """Is not to be called.

        Raises:
            Exception: always.
        """
        raise Exception("calculate_qparams should not be called for NoopObserver")


class ReuseInputObserver(ObserverBase):
    """Stands where a result has the grid of the input."""

    def __init__(self) -> None:
        super().__init__(torch.quint8, is_dynamic=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The value."""
        return x

    def calculate_qparams(self) -> Any:
        """Is not to be called.

        Raises:
            Exception: always.
        """
        raise Exception("calculate_qparams should not be called for ReuseInputObserver")


def _is_activation_post_process(module: Any) -> bool:
    """Whether a module is an observer, or rounds to a grid as one."""
    return isinstance(module, ObserverBase) or hasattr(module, "fake_quant_enabled")


def _is_observer_script_module(mod: Any, obs_type_name: str) -> bool:  # noqa: ARG001
    """Whether a module is an observer of TorchScript, which there is not."""
    return False


def get_observer_state_dict(mod: nn.Module) -> Any:
    """The part of a model's state that is of its observers."""
    state: Any = mod.state_dict()
    mine = "activation_post_process"
    found: Any = OrderedDict((k, v) for k, v in state.items() if mine in k)
    found._metadata = {k: v for k, v in state._metadata.items() if mine in k}
    return found


def load_observer_state_dict(mod: nn.Module, obs_dict: Any) -> None:
    """Loads what ``get_observer_state_dict`` gave.

    Raises:
        Exception: if something is missing or not expected.
    """
    missing, unexpected = mod.load_state_dict(obs_dict, strict=False)
    missing = [k for k in missing if "activation_post_process" in k]
    if missing or unexpected:
        raise Exception(
            f"Missing keys for observer {missing} in state_dict"
            if missing
            else f"Unexpected keys for observer {unexpected} in state_dict"
        )


HistogramObserver.__module__ = __name__  # where files of whole models name it

default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = MinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_tensor_symmetric
)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_tensor_symmetric, quant_min=-127, quant_max=127,
    eps=2**-12,
)  # fmt: skip
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_channel_symmetric
)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_channel_symmetric, quant_min=-127, quant_max=127,
    eps=2**-12,
)  # fmt: skip
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=torch.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=torch.quint8, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0
)
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(
    dtype=torch.quint4x2, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=torch.quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=torch.quint8, quant_min=0, quant_max=255
)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_reuse_input_observer = ReuseInputObserver

__getattr__ = _refusals.missing(__name__)
