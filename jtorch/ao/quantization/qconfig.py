"""Configurations: which observer a module's results get, and which its weights."""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals

from .fake_quantize import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    default_dynamic_fake_quant,
    default_embedding_fake_quant,
    default_embedding_fake_quant_4bit,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
    fused_per_channel_wt_fake_quant_range_neg_127_to_127,
    fused_wt_fake_quant_range_neg_127_to_127,
)
from .observer import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    NoopObserver,
    PlaceholderObserver,
    ReuseInputObserver,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_float_qparams_observer,
    default_float_qparams_observer_4bit,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_reuse_input_observer,
    default_weight_observer,
    per_channel_weight_observer_range_neg_127_to_127,
    weight_observer_range_neg_127_to_127,
)

_BACKENDS = ["fbgemm", "x86", "qnnpack", "onednn"]


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """What makes the observers of a module: of its results and of its weights.

    Args:
        activation: called without arguments, gives an observer.
        weight: likewise.

    Raises:
        ValueError: for modules in the place of what makes them.
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        """A pair of what makes observers."""
        if isinstance(activation, nn.Module) or isinstance(weight, nn.Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. Use "
                "MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


QConfigAny = QConfig | None


class QConfigDynamic(namedtuple("QConfigDynamic", ["activation", "weight"])):
    """The same under an older name, for what is quantised as it comes."""

    __slots__ = ()

    def __new__(cls, activation: Any = nn.Identity, weight: Any = nn.Identity) -> QConfigDynamic:
        """A pair of what makes observers."""
        if isinstance(weight, nn.Module):
            raise ValueError(
                "QConfigDynamic received observer instance, please pass observer class instead. "
                "Use MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


default_qconfig = QConfig(default_observer, default_weight_observer)
default_debug_qconfig = QConfig(default_debug_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
float16_dynamic_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=torch.float16, is_dynamic=True),
    PlaceholderObserver.with_args(dtype=torch.float16),
)
float16_static_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=torch.float16),
    PlaceholderObserver.with_args(dtype=torch.float16),
)
per_channel_dynamic_qconfig = QConfig(
    default_dynamic_quant_observer, default_per_channel_weight_observer
)
float_qparams_weight_only_qconfig = QConfig(
    default_placeholder_observer, default_float_qparams_observer
)
float_qparams_weight_only_qconfig_4bit = QConfig(
    default_placeholder_observer, default_float_qparams_observer_4bit
)
default_quint8_weight_qconfig = QConfig(HistogramObserver, MinMaxObserver)
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(default_dynamic_fake_quant, default_weight_fake_quant)
default_weight_only_qconfig = QConfig(nn.Identity, default_weight_fake_quant)
default_activation_only_qconfig = QConfig(default_fake_quant, nn.Identity)
default_qat_qconfig_v2 = QConfig(default_fused_act_fake_quant, default_fused_wt_fake_quant)
default_reuse_input_qconfig = QConfig(default_reuse_input_observer, NoopObserver)
_SYMMETRIC = HistogramObserver.with_args(dtype=torch.qint8, reduce_range=False, eps=2**-12)
default_symmetric_qnnpack_qconfig = QConfig(_SYMMETRIC, weight_observer_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    _SYMMETRIC, per_channel_weight_observer_range_neg_127_to_127
)
_SYMMETRIC_QAT = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=torch.qint8,
    reduce_range=False, eps=2**-12,
)  # fmt: skip
default_symmetric_qnnpack_qat_qconfig = QConfig(
    _SYMMETRIC_QAT, fused_wt_fake_quant_range_neg_127_to_127
)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    _SYMMETRIC_QAT, fused_per_channel_wt_fake_quant_range_neg_127_to_127
)
default_embedding_qat_qconfig = QConfig(
    NoopObserver.with_args(dtype=torch.float32), default_embedding_fake_quant
)
default_embedding_qat_qconfig_4bit = QConfig(
    NoopObserver.with_args(dtype=torch.float32), default_embedding_fake_quant_4bit
)
_default_fp32_placeholder_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=torch.float32),
    PlaceholderObserver.with_args(dtype=torch.float32),
)
_default_quint8_placeholder_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=torch.quint8), None
)


def _check_backend(backend: str) -> None:
    if backend not in _BACKENDS:
        raise AssertionError(
            f"backend: {backend} not supported. backend must be one of {_BACKENDS}"
        )


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """The configuration for quantisation after training.

    Args:
        backend: ``"x86"``, ``"fbgemm"``, ``"qnnpack"`` or ``"onednn"``.
        version: 0.

    Raises:
        AssertionError: for other backends and versions.
    """
    _check_backend(backend)
    if version != 0:
        raise AssertionError(
            f"Version number: {version} in get_default_qconfig is not supported. Version number "
            "must be 0"
        )
    if backend == "qnnpack":
        return QConfig(HistogramObserver.with_args(reduce_range=False), default_weight_observer)
    if backend == "onednn":
        _warn_of_onednn()
        return QConfig(
            HistogramObserver.with_args(reduce_range=False), default_per_channel_weight_observer
        )
    return QConfig(
        HistogramObserver.with_args(reduce_range=True), default_per_channel_weight_observer
    )


def _warn_of_onednn() -> None:
    if not torch.cpu._is_vnni_supported():
        warnings.warn(
            "Default qconfig of oneDNN backend with reduce_range of false may have accuracy "
            "issues on CPU without Vector Neural Network Instruction support.",
            stacklevel=3,
        )


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """The configuration for quantisation in training.

    Args:
        backend: ``"x86"``, ``"fbgemm"``, ``"qnnpack"`` or ``"onednn"``.
        version: 1 for modules that observe and round in one operation, 0 for others.

    Raises:
        AssertionError: for other backends and versions.
    """
    _check_backend(backend)
    if version not in (0, 1):
        raise AssertionError(
            f"Version number: {version}in get_default_qat_qconfig is not supported. Version "
            "number must be 0 or 1"
        )
    options: dict[str, Any] = {"quant_min": 0, "quant_max": 255}
    if backend != "onednn":
        options["reduce_range"] = backend != "qnnpack"
    kind = FusedMovingAvgObsFakeQuantize if version else FakeQuantize
    activation = kind.with_args(observer=MovingAverageMinMaxObserver, **options)
    if backend == "qnnpack":
        weight = default_fused_wt_fake_quant if version else default_weight_fake_quant
    else:
        weight = (
            default_fused_per_channel_wt_fake_quant
            if version
            else default_per_channel_weight_fake_quant
        )
    return QConfig(activation, weight)


def get_default_qconfig_dict(backend: str = "x86", version: int = 0) -> Any:
    """The default configuration as a dictionary, for old programs."""
    made: Any = torch.ao.quantization
    return made.get_default_qconfig_mapping(backend, version).to_dict()


def get_default_qat_qconfig_dict(backend: str = "x86", version: int = 1) -> Any:
    """The default configuration for training as a dictionary, for old programs."""
    made: Any = torch.ao.quantization
    return made.get_default_qat_qconfig_mapping(backend, version).to_dict()


def _assert_valid_qconfig(qconfig: Any, mod: nn.Module) -> None:
    """Refuses grids for each channel where transposed convolutions cannot have them.

    Raises:
        AssertionError: if so.
    """
    if qconfig is None:
        return
    transposed = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
    if isinstance(mod, transposed) and qconfig.weight is not None:
        made = qconfig.weight()
        if getattr(made, "qscheme", None) in (
            torch.per_channel_affine,
            torch.per_channel_symmetric,
            torch.per_channel_affine_float_qparams,
        ):
            raise AssertionError(
                "Per channel weight observer is not supported yet for ConvTranspose{n}d."
            )


def _add_module_to_qconfig_obs_ctr(qconfig: Any, module: Any) -> Any:
    """A configuration whose observers are made on the device of a module."""
    if module is None or qconfig is None or tuple(qconfig._fields) != ("activation", "weight"):
        return qconfig

    def where() -> Any:
        devices = {p.device for p in module.parameters()} | {p.device for p in module.buffers()}
        return {"device": next(iter(devices))} if devices else None

    def on_device(make: Any) -> Any:
        made = make.with_callable_args if hasattr(make, "with_callable_args") else None
        return make if made is None else made(factory_kwargs=where)

    def ranged(make: Any) -> Any:
        inner = make
        while hasattr(inner, "p"):
            inner = inner.p
        inner = getattr(inner, "func", inner)
        ok = isinstance(inner, type) and issubclass(inner, MinMaxObserver | HistogramObserver)
        return on_device(make) if ok and where() not in (None, {"device": _CPU}) else make

    return QConfig(ranged(qconfig.activation), ranged(qconfig.weight))


_CPU = torch.device("cpu")


def _partial_wrapper_equals(obs_or_fq1: Any, obs_or_fq2: Any) -> bool:
    """Whether two makers of observers make the same."""

    def parts(x: Any) -> Any:
        keywords = dict(x.p.keywords)
        observer = keywords.pop("observer", None)
        inner = parts(observer) if hasattr(observer, "p") else observer
        return x.p.func, keywords, inner

    return parts(obs_or_fq1) == parts(obs_or_fq2)


def _obs_or_fq_ctr_equals(first: Any, second: Any) -> bool:
    if hasattr(first, "p") and hasattr(second, "p"):
        return _partial_wrapper_equals(first, second)
    return first == second


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Whether two configurations make the same observers."""
    if q1 is None or q2 is None:
        return q1 == q2
    return _obs_or_fq_ctr_equals(q1.activation, q2.activation) and _obs_or_fq_ctr_equals(
        q1.weight, q2.weight
    )


def _activation_is_memoryless(qconfig: Any) -> bool:
    """Whether a configuration's observer of results keeps nothing from one to the next."""
    made = qconfig.activation()
    if isinstance(made, FakeQuantize) and hasattr(made, "activation_post_process"):
        made = made.activation_post_process
    return getattr(made, "averaging_constant", None) == 1


def _is_reuse_input_qconfig(qconfig: Any) -> bool:
    return (
        qconfig is not None
        and isinstance(qconfig.activation(), ReuseInputObserver)
        and isinstance(qconfig.weight(), NoopObserver)
    )


__getattr__ = _refusals.missing(__name__)
