"""Calls of ONNX's operators, recorded as nodes: what onnxscript's functions run on."""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import onnx_ir as ir
import onnxscript

#: The version of ONNX's operators that onnxscript's functions are written in.
OPSET = 18
op = onnxscript.values.Opset("", OPSET)

_CONSTANTS = {"value_int": ir.DataType.INT64, "value_float": ir.DataType.FLOAT}
_KINDS = {bool: ir.DataType.BOOL, int: ir.DataType.INT64, float: ir.DataType.FLOAT}


class Symbol(ir.Value):
    """A value of the graph, with the Python operators that functions are written with."""

    def __add__(self, other: Any) -> Any:
        return op.Add(self, other)

    def __radd__(self, other: Any) -> Any:
        return op.Add(other, self)

    def __sub__(self, other: Any) -> Any:
        return op.Sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return op.Sub(other, self)

    def __mul__(self, other: Any) -> Any:
        return op.Mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return op.Mul(other, self)

    def __truediv__(self, other: Any) -> Any:
        return op.Div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return op.Div(other, self)

    def __mod__(self, other: Any) -> Any:
        floats = self.dtype is not None and self.dtype.is_floating_point()
        return op.Mod(self, other, fmod=int(floats))

    def __pow__(self, other: Any) -> Any:
        return op.Pow(self, other)

    def __matmul__(self, other: Any) -> Any:
        return op.MatMul(self, other)

    def __neg__(self) -> Any:
        return op.Neg(self)

    def __and__(self, other: Any) -> Any:
        return op.And(self, other)

    def __or__(self, other: Any) -> Any:
        return op.Or(self, other)

    def __lt__(self, other: Any) -> Any:
        return op.Less(self, other)

    def __le__(self, other: Any) -> Any:
        return op.LessOrEqual(self, other)

    def __gt__(self, other: Any) -> Any:
        return op.Greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return op.GreaterOrEqual(self, other)

    def __getitem__(self, index: Any) -> Any:
        if type(index) is not int:
            raise TypeError(f"a value of a graph is indexed by a number, not by {index!r}")
        return op.Gather(self, index, axis=0)


class Recorder:
    """An evaluator of onnxscript's functions that computes nothing: what they call becomes nodes.

    Attributes:
        nodes: the nodes since the last call of ``taken``.
        functions: functions that nodes call, by what they are identified by.
    """

    #: Which attributes say what dtype the result has.
    _SAID: ClassVar[dict[str, str]] = {"Cast": "to", "RandomNormal": "dtype"}

    def __init__(self, parent: Recorder | None = None) -> None:
        self.nodes: list[ir.Node] = []
        self.functions: dict[Any, Any] = {} if parent is None else parent.functions
        self.parent = parent
        self._constants: dict[Any, Symbol] = {}

    def taken(self) -> list[ir.Node]:
        """The nodes since the last call."""
        nodes, self.nodes = self.nodes, []
        return nodes

    # ---- what onnxscript calls -------------------------------------------------------------------

    def eval_op(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """One operator of ONNX."""
        signature = op.op_signature
        if signature is None:
            raise ValueError(f"ONNX has no operator {op.name} in version {op.opset.version}")
        inputs, attributes = _sorted(signature, args, kwargs)
        return self._called(op, signature, inputs, attributes)

    def eval_function(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A function that onnxscript has compiled: a node that calls it."""
        signature = function.op_signature
        inputs, attributes = _sorted(signature, args, kwargs)
        for called in (function, *function.function_ir.get_called_functions().values()):
            copied = ir.serde.deserialize_function(called.to_function_proto())
            self.functions.setdefault(copied.identifier(), copied)
        return self._called(function, signature, inputs, attributes)

    # ---- nodes -----------------------------------------------------------------------------------

    def _called(
        self, op: Any, signature: Any, inputs: list[Any], attributes: dict[str, Any]
    ) -> Any:
        domain, version = op.domain, op.opset.version
        given = {name: x for name, x in attributes.items() if x is not None}
        if op.name == "CastLike" and isinstance(inputs[1], ir.Value) and inputs[1].dtype:
            return self.cast(inputs[0], inputs[1].dtype)
        if op.name == "Cast" and not domain:
            return self.cast(inputs[0], ir.DataType(given["to"]))
        dtypes = _bound(signature, inputs)
        values = self._inputs(signature, inputs, dtypes)
        while values and values[-1] is None:
            values.pop()
        results = signature.outputs
        count = len(results)
        if op.name == "BatchNormalization" and not domain and not given.get("training_mode"):
            results, count = results[:1], 1  # the others are there for training only
        elif results and results[-1].variadic:
            count = given.get("num_outputs") or 1
            results = [*results, *[results[-1]] * count][:count]
        outputs = [Symbol() for _ in range(count)]
        for value, result in zip(outputs, results, strict=True):
            found = self._dtype_of(op.name, result, dtypes, given)
            if found is not None:
                value.dtype = found
        attrs = [
            x if isinstance(x, ir.Attr) else ir.convenience.convert_attribute(name, x, kinds)
            for name, (x, kinds) in _typed(signature, given).items()
        ]
        self.nodes.append(ir.Node(domain, op.name, values, attrs, outputs=outputs, version=version))
        return outputs[0] if count == 1 else tuple(outputs)

    def _dtype_of(
        self, name: str, result: Any, dtypes: dict[str, Any], given: dict[str, Any]
    ) -> ir.DataType | None:
        if name == "Constant":
            key = next(iter(given))
            return given[key].dtype if key == "value" else _CONSTANTS.get(key.rstrip("s"))
        if name in self._SAID:
            return ir.DataType(given.get(self._SAID[name], 1))
        kinds = result.type_constraint.allowed_types
        if not any(isinstance(t, ir.TensorType) for t in kinds):
            return None
        if len(kinds) == 1:
            return next(iter(kinds)).dtype
        return dtypes.get(result.type_constraint.name)

    def cast(self, x: Any, dtype: ir.DataType) -> Any:
        """A value with another element type."""
        if isinstance(x, (list, tuple)):
            x = self.value(x, ir.DataType.INT64)
        if not isinstance(x, ir.Value):
            return self.constant(x, dtype)
        if x.dtype == dtype:
            return x
        out = Symbol()
        out.dtype, out.shape = dtype, x.shape
        attrs = [ir.AttrInt64("to", int(dtype))]
        self.nodes.append(ir.Node("", "Cast", [x], attrs, outputs=[out], version=OPSET))
        return out

    def _inputs(self, signature: Any, inputs: list[Any], dtypes: dict[str, Any]) -> list[Any]:
        formal = signature.inputs
        values = []
        unknown: dict[str, Any] = {}
        for place, x in enumerate(inputs):
            if isinstance(x, ir.Value) and x.dtype is None:
                unknown.setdefault(formal[min(place, len(formal) - 1)].type_constraint.name, x)
        for place, x in enumerate(inputs):
            param = formal[min(place, len(formal) - 1)]
            kinds = param.type_constraint.allowed_types
            dtype = dtypes.get(param.type_constraint.name) if param.homogeneous else None
            if dtype is None and len(kinds) == 1:
                dtype = getattr(next(iter(kinds)), "dtype", None)
            listed = all(isinstance(t, ir.SequenceType) for t in kinds)
            value = self.value(x, dtype, listed)
            like = unknown.get(param.type_constraint.name)
            if dtype is None and like is not None and not isinstance(x, ir.Value):
                value = value if value is None else op.CastLike(value, like)
            values.append(value)
        return values

    def value(self, x: Any, dtype: ir.DataType | None = None, listed: bool = False) -> Any:
        """A Python value as one of the graph: numbers are constants, lists with values of the graph
        are one-dimensional tensors, or sequences where ``listed``."""
        if x is None or isinstance(x, ir.Value):
            return x
        if isinstance(x, (list, tuple)) and any(isinstance(y, ir.Value) for y in x):
            if listed:
                out = Symbol()
                values = [self.value(y) for y in x]
                self.nodes.append(
                    ir.Node("", "SequenceConstruct", values, outputs=[out], version=OPSET)
                )
                return out
            minus_one = self.constant([-1], ir.DataType.INT64)
            parts = [
                op.Reshape(y, minus_one) if isinstance(y, ir.Value) else self.constant([y], dtype)
                for y in x
            ]
            return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)
        return self.constant(x, dtype)

    def constant(self, x: Any, dtype: ir.DataType | None = None) -> Symbol:
        """A node for a number, a list of numbers or an array; equal ones share a node."""
        if isinstance(x, (np.ndarray, ir.TensorProtocol)):
            tensor = x if isinstance(x, ir.TensorProtocol) else ir.tensor(x)
            return self._node_of(tensor)
        flat = list(x) if isinstance(x, (list, tuple)) else [x]
        if dtype is None:
            kinds = {_KINDS.get(type(y)) for y in flat} or {ir.DataType.INT64}
            dtype = ir.DataType.FLOAT if len(kinds) > 1 else next(iter(kinds))
        if dtype is None:
            raise TypeError(f"{x!r} is no value of ONNX's")
        key = (tuple(map(repr, flat)), isinstance(x, (list, tuple)), dtype)
        found = self._found(key)
        if found is None:
            array = np.array(x, dtype.numpy())
            if dtype.is_integer() and any(int(y) != y for y in flat):
                raise ValueError(f"{x!r} is used as {dtype}")
            found = self._constants[key] = self._node_of(ir.tensor(array, dtype))
        return found

    def _found(self, key: object) -> Symbol | None:
        at: Recorder | None = self
        while at is not None:
            if key in at._constants:
                return at._constants[key]
            at = at.parent
        return None

    def _node_of(self, tensor: ir.TensorProtocol) -> Symbol:
        out = Symbol(const_value=tensor)
        sizes: list[Any] = list(tensor.shape)
        out.dtype, out.shape = tensor.dtype, ir.Shape(sizes)
        attrs = [ir.AttrTensor("value", tensor)]
        self.nodes.append(ir.Node("", "Constant", [], attrs, outputs=[out], version=OPSET))
        return out


def _sorted(
    signature: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of a Python call as inputs and attributes."""
    inputs: list[Any] = []
    attributes: dict[str, Any] = {}
    left = dict(kwargs)
    rest = list(args)
    for param in signature.params:
        if param.is_param() and param.variadic:
            inputs += rest
            rest = []
        elif rest or param.name in left:
            x = rest.pop(0) if rest else left.pop(param.name)
            if param.is_param():
                inputs.append(x)
            else:
                attributes[param.name] = x
        elif param.is_param():
            default = param.default if param.has_default() else None
            inputs.append(default)
    if rest or left:
        raise TypeError(f"{signature.name} is given {rest or left}, which it has no parameters for")
    return inputs, attributes


def _bound(signature: Any, inputs: list[Any]) -> dict[str, Any]:
    """The dtypes that type variables stand for in a call."""
    formal = signature.inputs
    found: dict[str, Any] = {}
    for place, x in enumerate(inputs):
        param = formal[min(place, len(formal) - 1)]
        for y in x if isinstance(x, (list, tuple)) else [x]:
            if isinstance(y, ir.Value) and y.dtype is not None and param.homogeneous:
                found.setdefault(param.type_constraint.name, y.dtype)
    return found


def _typed(signature: Any, given: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    kinds = {a.name: a.type for a in signature.attributes}
    return {name: (x, kinds.get(name)) for name, x in given.items()}
