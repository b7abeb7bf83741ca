"""``SummaryWriter``: writes the logs of a program."""

# pyright: reportMissingImports=false

from __future__ import annotations

import os
import socket
import time
import warnings
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from jtorch._src.refusals import stand_ins as _refusals

from . import _embedding, summary
from ._convert_np import make_np
from ._pytorch_graph import graph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..._src.engine.sized import Sized
    from ..._src.facts.kinds import Named
    from ...core import Tensor
    from ...nn.modules.module import Module


__all__ = ["FileWriter", "SummaryWriter"]

_WHY = "files of ONNX are not read; add_graph shows a module"


class FileWriter:
    """Writes records to a file of a folder, in a thread of its own."""

    def __init__(
        self, log_dir: object, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""
    ) -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Writes an event, as of a step and a time (now)."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: object, global_step: object = None, walltime: float | None = None
    ) -> None:
        """Writes a record."""
        self.add_event(event_pb2.Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: Any, walltime: float | None = None) -> None:
        """Writes a graph, and what it ran on."""
        graph, stats = graph_profile
        self.add_event(event_pb2.Event(graph_def=graph.SerializeToString()), None, walltime)
        run = event_pb2.TaggedRunMetadata(tag="step1", run_metadata=stats.SerializeToString())
        self.add_event(event_pb2.Event(tagged_run_metadata=run), None, walltime)

    def flush(self) -> None:
        """Waits until all is in the file."""
        self.event_writer.flush()

    def close(self) -> None:
        """Writes what is left."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Goes on in another file."""
        self.event_writer.reopen()


def _default_bins() -> list[float]:
    """Bins whose limits grow by a tenth, from 1e-12 to 1e20, on both sides of 0."""
    limits, v = [], 1e-12
    while v < 1e20:
        limits.append(v)
        v *= 1.1
    return [-x for x in reversed(limits)] + [0] + limits


class SummaryWriter:
    """Writes logs for TensorBoard into a folder.

    Args:
        log_dir: the folder; by default ``runs/`` and the time, the host and ``comment``.
        comment: ends the name of the default folder.
        purge_step: events from this step on, of an earlier run, shall not be shown.
        max_queue: how many events wait before they are written.
        flush_secs: how often, in seconds, what waits is written.
        filename_suffix: ends the names of the files.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = os.path.join(
                "runs",
                f"{datetime.now().strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}",
            )
        self.log_dir = log_dir
        self.purge_step, self.max_queue, self.flush_secs, self.filename_suffix = (
            purge_step,
            max_queue,
            flush_secs,
            filename_suffix,
        )
        self.file_writer: Any = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()
        self.default_bins = _default_bins()
        self._projector_config = None

    def _get_file_writer(self) -> FileWriter:
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = FileWriter(
                self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix
            )
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                at = self.purge_step
                self.file_writer.add_event(Event(step=at, file_version="brain.Event:2"))
                self.file_writer.add_event(
                    Event(step=at, session_log=SessionLog(status=SessionLog.START))
                )
                self.purge_step = None
        return self.file_writer

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def _add(self, record: object, global_step: object, walltime: float | None) -> None:
        self._get_file_writer().add_summary(record, global_step, walltime)

    def add_scalar(
        self,
        tag: str,
        scalar_value: object,
        global_step: object = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Logs a number."""
        self._add(
            summary.scalar(
                tag, scalar_value, new_style=new_style, double_precision=double_precision
            ),
            global_step,
            walltime,
        )

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, object],
        global_step: object = None,
        walltime: float | None = None,
    ) -> None:
        """Logs several numbers that belong into one chart, each in a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            path = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if path not in self.all_writers:
                self.all_writers[path] = FileWriter(
                    path, self.max_queue, self.flush_secs, self.filename_suffix
                )
            self.all_writers[path].add_summary(
                summary.scalar(main_tag, value), global_step, walltime
            )

    def add_tensor(
        self, tag: str, tensor: Tensor, global_step: object = None, walltime: float | None = None
    ) -> None:
        """Logs a tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: object,
        global_step: object = None,
        bins: object = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Logs how values are distributed; ``bins`` as for ``numpy.histogram``, or ``"tensorflow"``
        for bins that grow away from 0."""
        chosen = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summary.histogram(tag, values, chosen, max_bins=max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: object,
        max: object,
        num: object,
        sum: object,
        sum_squares: object,
        bucket_limits: Sized,
        bucket_counts: Sized,
        global_step: object = None,
        walltime: float | None = None,
    ) -> None:
        """Logs a histogram that was counted already.

        Raises:
            ValueError: if there are more limits than counts, or fewer.
        """
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        self._add(
            summary.histogram_raw(
                tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
            ),
            global_step,
            walltime,
        )

    def add_image(
        self,
        tag: str,
        img_tensor: object,
        global_step: object = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Logs an image."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: object,
        global_step: object = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Logs several images as one."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: object,
        box_tensor: Sized,
        global_step: object = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: str | list[str] | None = None,
    ) -> None:
        """Logs an image with boxes, left, upper, right and lower edge each; labels that are not one
        a box are left out."""
        if isinstance(labels, str):
            labels = [labels]
        if labels is not None and len(labels) != len(box_tensor):
            labels = None
        record = summary.image_boxes(
            tag, img_tensor, box_tensor, rescale=rescale, dataformats=dataformats, labels=labels
        )
        self._add(record, global_step, walltime)

    def add_video(
        self,
        tag: str,
        vid_tensor: object,
        global_step: object = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Logs films, ``(films, frames, channels, height, width)``, beside each other."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: object = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Logs one or several figures of Matplotlib as an image, and closes them unless ``close``
        is False."""
        figures = figure if isinstance(figure, list) else [figure]
        images = np.stack([_drawn(one) for one in figures])
        if close:
            import matplotlib.pyplot as plt

            for one in figures:
                plt.close(one)
        if isinstance(figure, list):
            self.add_image(tag, images, global_step, walltime, dataformats="NCHW")
        else:
            self.add_image(tag, images[0], global_step, walltime, dataformats="CHW")

    def add_audio(
        self,
        tag: str,
        snd_tensor: object,
        global_step: object = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Logs a sound of one channel, values from -1 to 1."""
        self._add(
            summary.audio(tag, make_np(snd_tensor), sample_rate=sample_rate), global_step, walltime
        )

    def add_text(
        self, tag: str, text_string: str, global_step: object = None, walltime: float | None = None
    ) -> None:
        """Logs a text."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_graph(
        self,
        model: Module,
        input_to_model: object = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Logs the operators that a module calls for an example, in boxes named after its
        submodules."""
        self._get_file_writer().add_graph(graph(model, input_to_model, verbose, use_strict_trace))

    add_onnx_graph = _refusals.make("torch.utils.tensorboard.SummaryWriter.add_onnx_graph", _WHY)

    def add_embedding(
        self,
        mat: object,
        metadata: Any = None,
        label_img: object = None,
        global_step: object = None,
        tag: str = "default",
        metadata_header: list[str] | None = None,
    ) -> None:
        """Logs points for the projector, with what is said of each (several words, if a header
        names them) and an image of each.

        Raises:
            AssertionError: if there are more or fewer words or images than points, or the points
                are no matrix.
        """
        from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

        step = 0 if global_step is None else global_step
        top, below = self._get_file_writer().get_logdir(), _embedding.folder_of(tag, step)
        folder = os.path.join(top, below)
        if os.path.isdir(folder):
            warnings.warn(
                "Embedding dir exists, did you set global_step for add_embedding()?", stacklevel=2
            )
        os.makedirs(folder, exist_ok=True)
        _embedding.write(folder, make_np(mat), metadata, label_img, metadata_header)
        if self._projector_config is None:
            self._projector_config = ProjectorConfig()
        self._projector_config.embeddings.extend(
            [_embedding.get_embedding_info(metadata, label_img, below, step, tag)]
        )
        _embedding.write_pbtxt(str(top), str(self._projector_config))

    def add_pr_curve(
        self,
        tag: str,
        labels: object,
        predictions: object,
        global_step: object = None,
        num_thresholds: int = 127,
        weights: object = None,
        walltime: float | None = None,
    ) -> None:
        """Logs the curve of precision and recall of predictions from 0 to 1, whose labels are 0 and
        1."""
        weights = weights if weights is None else make_np(weights)
        self._add(
            summary.pr_curve(tag, make_np(labels), make_np(predictions), num_thresholds, weights),
            global_step,
            walltime,
        )

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: object,
        false_positive_counts: object,
        true_negative_counts: object,
        false_negative_counts: object,
        precision: object,
        recall: object,
        global_step: object = None,
        num_thresholds: int = 127,
        weights: object = None,
        walltime: float | None = None,
    ) -> None:
        """Logs a curve of precision and recall that was counted already."""
        counts = (
            true_positive_counts,
            false_positive_counts,
            true_negative_counts,
            false_negative_counts,
        )
        self._add(
            summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds, weights),
            global_step,
            walltime,
        )

    def add_custom_scalars(self, layout: dict[str, dict[str, object]]) -> None:
        """Says which scalars are shown together: ``{category: {title: ["Multiline" or "Margin",
        tags]}}``."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Says which scalars are lines of one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Says which scalars are a value and its lower and upper bound.

        Raises:
            AssertionError: for other than three.
        """
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_mesh(
        self,
        tag: str,
        vertices: object,
        colors: object = None,
        faces: object = None,
        config_dict: Named | None = None,
        global_step: object = None,
        walltime: float | None = None,
    ) -> None:
        """Logs points of a space, ``(clouds, points, 3)``, or triangles between them, with
        colours."""
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: Mapping[str, object],
        metric_dict: Mapping[str, object],
        hparam_domain_discrete: object = None,
        run_name: str | None = None,
        global_step: object = None,
    ) -> None:
        """Logs hyperparameters and the results that they led to, as a run of its own."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        records = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        with SummaryWriter(
            os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        ) as run:
            for record in records:
                run.file_writer.add_summary(record, global_step)
            for name, value in metric_dict.items():
                run.add_scalar(name, value, global_step)

    def flush(self) -> None:
        """Waits until all is in the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Writes what is left; logging more opens another file."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _drawn(figure: Any) -> np.ndarray:
    """A figure as channels, height and width."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].transpose(2, 0, 1)
