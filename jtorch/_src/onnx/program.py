"""``torch.onnx.ONNXProgram``: an exported model, to be saved, looked at and run."""

# pyright: reportMissingImports=false
# (of the packages nothing is loaded before a program is there)

from __future__ import annotations

import importlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch as torch
from jtorch.utils import _pytree as pytree

if TYPE_CHECKING:
    import onnx

    from jtorch.export import ExportedProgram


def _inner(name: str) -> Any:
    """A module of this folder that needs the packages."""
    return importlib.import_module(f"{__package__}.{name}")


def _ir() -> Any:
    return importlib.import_module("onnx_ir")


#: A file of ONNX's holds less than this.
_LIMIT = 1 << 31
_KEPT_INSIDE = 256


def _session(model: str | bytes) -> Any:
    """A session of onnxruntime's on the CPU."""
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class ONNXProgram:
    """A model that was exported to ONNX.

    Calling it runs it with onnxruntime, on tensors that are nested as the exported module's
    arguments were; it gives the tensors of the result, in a tuple. It has the elements that
    parameters and buffers had when it was exported.

    Attributes:
        model: the model as ``onnx_ir`` has it.
        exported_program: the program that was translated.
    """

    def __init__(self, model: Any, exported_program: ExportedProgram | None) -> None:
        self.model, self.exported_program = model, exported_program
        self._inference_session: Any = None
        self._folder: Any = None

    def __repr__(self) -> str:
        def shifted(x: object) -> str:
            return str(x).replace("\n", "\n        ")

        return (
            "ONNXProgram(\n"
            f"    model=\n        {shifted(self.model)}\n    ,\n"
            f"    exported_program=\n        {shifted(self.exported_program)}\n)\n"
        )

    @property
    def model_proto(self) -> onnx.ModelProto:
        """The model as ``onnx`` has it."""
        return _ir().serde.serialize_model(self.model)

    # ---- running ---------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Sequence[torch.Tensor]:
        """The tensors that the model gives for arguments, computed by onnxruntime."""
        if self._inference_session is None:
            self.initialize_inference_session()
        given = self._arrays(args, kwargs)
        return self._tensors(self._inference_session.run(None, given))

    def call_reference(self, *args: Any, **kwargs: Any) -> Sequence[torch.Tensor]:
        """The same, computed by the reference implementation in ``onnx``."""
        reference = importlib.import_module("onnx.reference")
        evaluator = reference.ReferenceEvaluator(self.model_proto)
        return self._tensors(evaluator.run(None, self._arrays(args, kwargs)))

    def compute_values(
        self, value_names: Sequence[str], args: Any = (), kwargs: Any = None
    ) -> Sequence[torch.Tensor]:
        """The values inside the graph that have these names.

        Raises:
            ValueError: for a name that no value has.
        """
        graph = self.model.graph
        named = {v.name: v for node in graph for v in node.outputs}
        named |= {v.name: v for v in (*graph.inputs, *graph.initializers.values())}
        for name in value_names:
            if name not in named:
                raise ValueError(
                    f"Value '{name}' not found in the model. Please provide a valid value name."
                )
        before = list(graph.outputs)
        graph.outputs[:] = [named[name] for name in value_names]
        try:
            other = ONNXProgram(self.model, self.exported_program)
            try:
                return other(*args, **(kwargs or {}))
            finally:
                other.release()
        finally:
            graph.outputs[:] = before

    def initialize_inference_session(
        self, initializer: Callable[[str | bytes], Any] = _session
    ) -> None:
        """Makes the session that calls run in; ``initializer`` is given the model, or the file of a
        large one."""
        size = sum(
            x.const_value.nbytes
            for x in self.model.graph.initializers.values()
            if x.const_value is not None
        )
        if size < _LIMIT // 2:
            self._inference_session = initializer(self.model_proto.SerializeToString())
            return
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        path = os.path.join(self._folder.name, "model.onnx")
        self.save(path, external_data=True)
        self._inference_session = initializer(path)

    def release(self) -> None:
        """Gives up the session and its files."""
        self._inference_session = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _arrays(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, np.ndarray]:
        leaves = (
            pytree.tree_leaves((args, kwargs))
            if self.exported_program is None
            else self.exported_program.nested_inputs(args, kwargs)
        )
        tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
        inputs = [v for v in self.model.graph.inputs if not v.is_initializer()]
        if len(tensors) != len(inputs):
            raise ValueError(f"the model takes {len(inputs)} tensors, {len(tensors)} are given")
        array_of = _inner("types").array_of
        return {v.name: array_of(x) for v, x in zip(inputs, tensors, strict=True)}

    def _tensors(self, arrays: Sequence[np.ndarray]) -> Sequence[torch.Tensor]:
        found, back = [], _inner("types").BACK
        for value, array in zip(self.model.graph.outputs, arrays, strict=True):
            made = torch.from_numpy(np.array(array))
            dtype = back.get(value.dtype)
            found.append(made if dtype is None else made.to(dtype))
        return tuple(found)

    # ---- files -----------------------------------------------------------------------------------

    def save(
        self,
        destination: str | os.PathLike[str] | Any,
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Writes the model to a file, which is there when it is whole.

        Args:
            include_initializers: whether the file has parameters and buffers; otherwise they are
                inputs of the model that is written.
            keep_initializers_as_inputs: whether they are inputs with these values as defaults.
            external_data: whether they are in a file of their own, with ``.data`` at the end of its
                name; by default if they are too large for one file.
        """
        graph = self.model.graph
        inputs, initializers = list(graph.inputs), dict(graph.initializers)
        try:
            if not include_initializers:
                graph.initializers.clear()
            if keep_initializers_as_inputs:
                graph.inputs.extend([v for v in initializers.values() if v not in inputs])
            if hasattr(destination, "write"):
                destination.write(self.model_proto.SerializeToString())
                return
            if external_data is None:
                held = [v.const_value for v in graph.initializers.values()]
                external_data = sum(x.nbytes for x in held if x is not None) >= _LIMIT // 2
            self._write(os.fspath(destination), bool(external_data))
        finally:
            graph.inputs[:] = inputs
            graph.initializers.clear()
            graph.initializers.update(initializers)

    def _write(self, path: str, external_data: bool) -> None:
        folder, name = os.path.split(os.path.abspath(path))
        with tempfile.TemporaryDirectory(dir=folder, prefix=".") as apart:
            made = os.path.join(apart, name)
            if external_data:
                _ir().save(
                    self.model,
                    made,
                    external_data=f"{name}.data",
                    size_threshold_bytes=_KEPT_INSIDE,
                )
            else:
                _ir().save(self.model, made)
            for one in sorted(os.listdir(apart), key=lambda x: x == name):
                shutil.move(os.path.join(apart, one), os.path.join(folder, one))

    # ---- changes ---------------------------------------------------------------------------------

    def apply_weights(self, state_dict: Mapping[str, torch.Tensor]) -> None:
        """Gives parameters and buffers other elements; names that the model lacks are left out."""
        self.release()
        for name, x in state_dict.items():
            if name in self.model.graph.initializers:
                self.model.graph.initializers[name].const_value = _inner("types").tensor_of(x, name)

    def rename_axes(self, rename_mapping: Mapping[Any, str]) -> None:
        """Gives sizes that vary other names."""
        _inner("shapes").rename(
            self.model, {getattr(k, "value", k): v for k, v in rename_mapping.items()}
        )

    def optimize(self) -> None:
        """Computes what is constant, and joins operators."""

        _inner("passes").optimized(self.model)
