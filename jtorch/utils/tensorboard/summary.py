"""The records of TensorBoard's logs."""

# pyright: reportMissingImports=false

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals

from ._charts import compute_curve as compute_curve
from ._charts import custom_scalars as custom_scalars
from ._charts import mesh as mesh
from ._charts import pr_curve as pr_curve
from ._charts import pr_curve_raw as pr_curve_raw
from ._convert_np import make_np
from ._pictures import draw_boxes as draw_boxes
from ._pictures import image as image
from ._pictures import image_boxes as image_boxes
from ._pictures import video as video

__all__ = [
    "audio", "compute_curve", "custom_scalars", "draw_boxes", "histogram", "histogram_raw",
    "hparams", "image", "image_boxes", "mesh", "pr_curve", "pr_curve_raw", "scalar", "tensor_proto",
    "text", "video",
]  # fmt: skip


def scalar(
    name: str,
    tensor: object,
    collections: object = None,
    new_style: bool = False,
    double_precision: bool = False,
) -> Any:
    """A number; as a tensor if ``new_style``, which TensorBoard reads faster."""
    del collections
    value = make_np(tensor).squeeze()
    if value.ndim != 0:
        raise AssertionError(
            f"Tensor should contain one element (0 dimensions). Was given size: {value.size} and "
            f"{value.ndim} dimensions."
        )
    number = float(value)
    if not new_style:
        return Summary(value=[Summary.Value(tag=name, simple_value=number)])
    proto = (
        TensorProto(double_val=[number], dtype="DT_DOUBLE")
        if double_precision
        else TensorProto(float_val=[number], dtype="DT_FLOAT")
    )
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
    return Summary(value=[Summary.Value(tag=name, tensor=proto, metadata=metadata)])


_DTYPES = {
    torch.float64: ("DT_DOUBLE", "double_val"), torch.float32: ("DT_FLOAT", "float_val"),
    torch.float16: ("DT_HALF", "half_val"), torch.bfloat16: ("DT_BFLOAT16", "half_val"),
    torch.int64: ("DT_INT64", "int64_val"), torch.int32: ("DT_INT32", "int_val"),
    torch.int16: ("DT_INT16", "int_val"), torch.int8: ("DT_INT8", "int_val"),
    torch.uint8: ("DT_UINT8", "int_val"), torch.bool: ("DT_BOOL", "bool_val"),
    torch.complex64: ("DT_COMPLEX64", "scomplex_val"),
    torch.complex128: ("DT_COMPLEX128", "dcomplex_val"),
}  # fmt: skip


def tensor_proto(tag: str, tensor: torch.Tensor) -> Any:
    """A whole tensor.

    Raises:
        ValueError: for a dtype that the format does not know.
    """
    if tensor.dtype not in _DTYPES:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    kind, field = _DTYPES[tensor.dtype]
    flat = tensor.detach().cpu().reshape(-1)
    if field == "half_val":
        values = flat.view(torch.int16).to(torch.int32).bitwise_and(0xFFFF).tolist()
    elif tensor.dtype.is_complex:
        values = torch.view_as_real(flat).reshape(-1).tolist()
    else:
        values = flat.tolist()
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in tensor.shape])
    proto = TensorProto(dtype=kind, tensor_shape=shape, **{field: values})
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="tensor"))
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=proto)])


def histogram_raw(
    name: str, min: object, max: object, num: object, sum: object, sum_squares: object,
    bucket_limits: object, bucket_counts: object
) -> Any:  # fmt: skip
    """A histogram that was counted already."""
    proto = HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits,
        bucket=bucket_counts
    )  # fmt: skip
    return Summary(value=[Summary.Value(tag=name, histo=proto)])


def histogram(name: str, values: object, bins: object, max_bins: int | None = None) -> Any:
    """How often values lie in which bin."""
    return Summary(
        value=[
            Summary.Value(
                tag=name, histo=make_histogram(make_np(values).astype(float), bins, max_bins)
            )
        ]
    )


def make_histogram(values: np.ndarray, bins: Any, max_bins: int | None = None) -> Any:
    """The histogram, without the empty bins at its ends, and with one empty bin that tells where
    the first begins.

    Raises:
        ValueError: if there are no values.
    """
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        rest = len(counts) % step
        counts = np.pad(counts, (0, step - rest if rest else 0)).reshape(-1, step).sum(-1)
        limits = np.concatenate([limits[:-1:step], limits[-1:]])
    filled = np.flatnonzero(counts)
    first, last = int(filled[0]), int(filled[-1]) + 1
    kept = counts[first - 1 : last] if first > 0 else np.concatenate([[0], counts[:last]])
    return HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=limits[first : last + 1].tolist(),
        bucket=kept.tolist(),
    )


def audio(tag: str, tensor: object, sample_rate: int = 44100) -> Any:
    """A sound of one channel: floats from -1 to 1."""
    array = make_np(tensor).squeeze()
    if abs(array).max() > 1:
        array = array.clip(-1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((array * np.iinfo(np.int16).max).astype("<i2").tobytes())
    proto = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=array.shape[-1],
        encoded_audio_string=buffer.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=proto)])


def text(tag: str, text: str) -> Any:
    """A text in Markdown."""
    plugin = SummaryMetadata.PluginData(
        plugin_name="text", content=TextPluginData(version=0).SerializeToString()
    )
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    proto = TensorProto(dtype="DT_STRING", string_val=[text.encode("utf-8")], tensor_shape=shape)
    return Summary(
        value=[
            Summary.Value(
                tag=f"{tag}/text_summary",
                metadata=SummaryMetadata(plugin_data=plugin),
                tensor=proto,
            )
        ]
    )


def hparams(
    hparam_dict: Any = None, metric_dict: Any = None, hparam_domain_discrete: Any = None
) -> tuple[Any, Any, Any]:
    """What describes an experiment, and the begin and end of one run of it.

    Raises:
        TypeError: for what are no dictionaries, or domains of other types than the values.
        ValueError: for values that are neither numbers, texts, truth values nor tensors.
    """
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    dictionaries = {
        "hparam_dict": hparam_dict,
        "metric_dict": metric_dict,
        "hparam_domain_discrete": hparam_domain_discrete or {},
    }
    for name, given in dictionaries.items():
        if not isinstance(given, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    domains = hparam_domain_discrete or {}
    for k, v in domains.items():
        if (
            k not in hparam_dict
            or not isinstance(v, list)
            or not all(isinstance(d, type(hparam_dict[k])) for d in v)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{k}] should be a list of same type as "
                f"hparam_dict[{k}]."
            )
    start = plugin_data_pb2.SessionStartInfo()
    infos = []
    for k, v in hparam_dict.items():
        if v is None:
            continue
        if isinstance(v, torch.Tensor):
            v = make_np(v).reshape(-1)[0]
        if isinstance(v, (int, float, np.number)):  # truth values too, as PyTorch writes them
            field, kind = "number_value", "DATA_TYPE_FLOAT64"
        elif isinstance(v, str):
            field, kind = "string_value", "DATA_TYPE_STRING"
        else:
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        setattr(start.hparams[k], field, v)
        domain = (
            None
            if k not in domains
            else struct_pb2.ListValue(values=[struct_pb2.Value(**{field: d}) for d in domains[k]])
        )
        infos.append(
            api_pb2.HParamInfo(name=k, type=api_pb2.DataType.Value(kind), domain_discrete=domain)
        )
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=k)) for k in metric_dict]
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))

    def record(tag: str, **content: object) -> Any:
        data = plugin_data_pb2.HParamsPluginData(
            version=metadata.PLUGIN_DATA_VERSION, **content
        ).SerializeToString()
        plugin = SummaryMetadata.PluginData(plugin_name=metadata.PLUGIN_NAME, content=data)
        return Summary(value=[Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=plugin))])

    return (
        record(
            metadata.EXPERIMENT_TAG,
            experiment=api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics),
        ),
        record(metadata.SESSION_START_INFO_TAG, session_start_info=start),
        record(metadata.SESSION_END_INFO_TAG, session_end_info=end),
    )


__getattr__ = _refusals.missing(__name__)
