"""Records of curves, of layouts of charts and of meshes, for TensorBoard's plugins."""

# pyright: reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from ._convert_np import make_np

if TYPE_CHECKING:
    from ..._src.facts.kinds import Named


#: The most thresholds that TensorBoard's curves have, and what counts are divided by where there
#: are none.
_MOST, _LEAST = 127, 1e-7


def _tensor(values: object, shape: Iterable[object]) -> TensorProto:
    sizes = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in shape])
    return TensorProto(
        dtype="DT_FLOAT",
        float_val=np.asarray(values, float).reshape(-1).tolist(),
        tensor_shape=sizes,
    )


def _record(tag: str, tensor: TensorProto, plugin: str, content: bytes, **names: object) -> object:
    data = SummaryMetadata.PluginData(plugin_name=plugin, content=content)
    return Summary.Value(
        tag=tag, tensor=tensor, metadata=SummaryMetadata(plugin_data=data, **names)
    )


def compute_curve(
    labels: np.ndarray,
    predictions: np.ndarray,
    num_thresholds: int | None = None,
    weights: Any = None,
) -> np.ndarray:
    """True and false positives, true and false negatives, precision and recall, a row each, for
    thresholds from 0 to 1."""
    n = min(num_thresholds or _MOST, _MOST)
    weights = 1.0 if weights is None else weights
    places = np.floor(predictions * (n - 1)).astype(np.int32)

    def above(chosen: Any) -> np.ndarray:
        found, _ = np.histogram(
            places, bins=n, range=(0, n - 1), weights=chosen * weights * np.ones(np.shape(places))
        )
        return found[::-1].cumsum()[::-1]

    right = labels.astype(float)
    tp, fp = above(right), above(1.0 - right)
    tn, fn = fp[0] - fp, tp[0] - tp
    return np.stack(
        [tp, fp, tn, fn, tp / np.maximum(_LEAST, tp + fp), tp / np.maximum(_LEAST, tp + fn)]
    )


def pr_curve_raw(
    tag: str, tp: object, fp: object, tn: object, fn: object, precision: object, recall: object,
    num_thresholds: int = 127, weights: object = None
) -> object:  # fmt: skip
    """A curve of precision and recall that was counted already."""
    del weights  # the counts are what they are
    from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

    rows = np.stack(
        [np.asarray(make_np(row), float).reshape(-1) for row in (tp, fp, tn, fn, precision, recall)]
    )
    content = PrCurvePluginData(
        version=0, num_thresholds=min(num_thresholds, _MOST)
    ).SerializeToString()
    return Summary(value=[_record(tag, _tensor(rows, rows.shape), "pr_curves", content)])


def pr_curve(
    tag: str,
    labels: np.ndarray,
    predictions: np.ndarray,
    num_thresholds: int = 127,
    weights: object = None,
) -> object:
    """The curve of precision and recall of predictions from 0 to 1, whose labels are 0 and 1."""
    rows = compute_curve(labels, predictions, num_thresholds, weights)
    return pr_curve_raw(tag, *rows, num_thresholds=num_thresholds)


def custom_scalars(layout: dict[str, Named]) -> object:
    """How scalars are shown together: ``{category: {title: ("Multiline" or "Margin", tags)}}``.

    Raises:
        AssertionError: for a chart with margins of other than three tags.
    """
    from tensorboard.plugins.custom_scalar import layout_pb2

    categories = []
    for category, charts in layout.items():
        made = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError("len(tags) != 3")
                value, lower, upper = tags
                series = layout_pb2.MarginChartContent.Series(value=value, lower=lower, upper=upper)
                made.append(
                    layout_pb2.Chart(
                        title=title, margin=layout_pb2.MarginChartContent(series=[series])
                    )
                )
            else:
                made.append(
                    layout_pb2.Chart(
                        title=title, multiline=layout_pb2.MultilineChartContent(tag=list(tags))
                    )
                )
        categories.append(layout_pb2.Category(title=category, chart=made))
    content = layout_pb2.Layout(category=categories).SerializeToString()
    tensor = TensorProto(dtype="DT_STRING", string_val=[content], tensor_shape=TensorShapeProto())
    return Summary(value=[_record("custom_scalars__config__", tensor, "custom_scalars", b"")])


def mesh(
    tag: str,
    vertices: Any,
    colors: Any,
    faces: Any,
    config_dict: dict[str, object] | None,
    display_name: str | None = None,
    description: str | None = None,
) -> Any:
    """Points of a space, or triangles between them, with colours.

    Raises:
        ValueError: for tensors of other than three dimensions.
    """
    from tensorboard.plugins.mesh import metadata
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    shown = json.dumps(config_dict or {}, sort_keys=True)
    kinds = MeshPluginData.ContentType
    given = [
        (t, k)
        for t, k in ((vertices, kinds.VERTEX), (faces, kinds.FACE), (colors, kinds.COLOR))
        if t is not None
    ]
    components = metadata.get_components_bitmask([k for _, k in given])
    records = []
    for tensor, kind in given:
        array = make_np(tensor)
        content = metadata.create_summary_metadata(
            tag, display_name, kind, components, tensor.shape, description, json_config=shown
        )
        name = metadata.get_instance_name(tag, kind)
        records.append(
            Summary.Value(tag=name, tensor=_tensor(array, array.shape), metadata=content)
        )
    return Summary(value=records)
