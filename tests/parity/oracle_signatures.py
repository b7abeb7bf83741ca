"""The signatures of PyTorch's public functions, all overloads of each: from Python itself, from its
stubs, from its operator schemas."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

#: Stands for a default that is no literal: only that there is one is compared.
UNKNOWN = object()

#: Prefixes of operators' names in the namespaces that stubs do not cover.
_PREFIXES = {
    "torch.linalg": "linalg_",
    "torch.fft": "fft_",
    "torch.special": "special_",
    "torch.nn.functional": "",
}

_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def namespaces() -> dict[str, Any]:
    """The namespaces whose functions are compared."""
    return {
        "torch": torch,
        "torch.Tensor": torch.Tensor,
        "torch.functional": torch.functional,
        "torch.nn.functional": torch.nn.functional,
        "torch.nn.init": torch.nn.init,
        "torch.linalg": torch.linalg,
        "torch.fft": torch.fft,
        "torch.special": torch.special,
        "torch.signal.windows": torch.signal.windows,
    }


def names() -> dict[str, Any]:
    """Every name that PyTorch lists as overridable or as ignored, all its spellings, and the
    ``_foreach`` functions."""
    listed: set[Any] = set(torch.overrides.get_ignored_functions())
    for functions in torch.overrides.get_overridable_functions().values():
        listed.update(functions)
    found: dict[str, Any] = {}
    for prefix, namespace in namespaces().items():
        for name in dir(namespace):
            value = (
                inspect.getattr_static(namespace, name)
                if namespace is torch.Tensor
                else getattr(namespace, name, None)
            )
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            if isinstance(value, (ModuleType, type, bool)):
                continue
            getter = getattr(value, "__get__", None) if inspect.isdatadescriptor(value) else None
            try:
                is_listed = value in listed or (getter is not None and getter in listed)
            except TypeError:  # not hashable, so not listed
                continue
            if name in ("__dict__", "__weakref__"):
                continue
            if (
                is_listed
                or (prefix == "torch" and name.startswith("_foreach_"))
                or (prefix == "torch.Tensor" and getter is not None)
            ):
                found[f"{prefix}.{name}"] = value
    return found


def _default(node: ast.expr | None) -> Any:
    if node is None:
        return inspect.Parameter.empty
    try:
        found = ast.literal_eval(node)
        return UNKNOWN if found is ... else found
    except ValueError:
        return {"inf": float("inf"), "-inf": float("-inf")}.get(ast.unparse(node), UNKNOWN)


def _is_deprecated(signature: inspect.Signature, method: bool) -> bool:
    """Whether this is one of the old orders, numbers before tensors, that PyTorch accepts with a
    warning."""
    names = list(signature.parameters)
    scales = [n for n in names[int(method) :] if n in ("alpha", "beta", "value")]
    by_position = [n for n in scales if signature.parameters[n].kind is _POSITIONAL]
    tensors = [
        n
        for n in names
        if n in ("other", "tensor1", "batch1", "mat1", "mat", "vec", "vec1", "batch2", "self")
    ]
    if "self" in names[int(method) :]:
        return True
    return bool(by_position and tensors) and names.index(tensors[-1]) > names.index(by_position[0])


def _of_node(node: ast.FunctionDef) -> inspect.Signature:
    """The signature of a definition in a stub."""
    a = node.args
    positional = [*a.posonlyargs, *a.args]
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(a.defaults)), *a.defaults]
    params = []
    for i, (arg, default) in enumerate(zip(positional, defaults, strict=True)):
        kind = inspect.Parameter.POSITIONAL_ONLY if i < len(a.posonlyargs) else _POSITIONAL
        params.append(inspect.Parameter(arg.arg, kind, default=_default(default)))
    if a.vararg is not None:
        params.append(inspect.Parameter(a.vararg.arg, inspect.Parameter.VAR_POSITIONAL))
    for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True):
        params.append(inspect.Parameter(arg.arg, _KEYWORD, default=_default(default)))
    return inspect.Signature(params)


@functools.cache
def _stubs(file: str, owner: str | None) -> dict[str, list[inspect.Signature]]:
    """All definitions at the top of a stub file, or in a class of it."""
    path = Path(torch.__file__).parent / "_C" / file
    body: list[ast.stmt] = ast.parse(path.read_text()).body
    if owner is not None:
        body = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == owner).body
    found: dict[str, list[inspect.Signature]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            signature = _of_node(node)
            if not _is_deprecated(signature, owner is not None):
                found.setdefault(node.name, []).append(signature)
    return found


def _of_schema(schema: Any) -> inspect.Signature | None:
    params = []
    for argument in schema.arguments:
        default = (
            argument.default_value if argument.has_default_value() else inspect.Parameter.empty
        )
        if argument.is_out:
            params.append(inspect.Parameter("out", _KEYWORD, default=None))
            break
        name = (
            "input"
            if argument.name == "self" and not schema.name.startswith("aten::_foreach")
            else argument.name
        )
        params.append(
            inspect.Parameter(
                name, _KEYWORD if argument.kwarg_only else _POSITIONAL, default=default
            )
        )
    return inspect.Signature(params)


def _without(signature: inspect.Signature, name: str) -> inspect.Signature:
    return signature.replace(
        parameters=[p for p in signature.parameters.values() if p.name != name]
    )


def overloads(path: str, value: Any) -> list[inspect.Signature]:
    """The signatures of one public function; empty where PyTorch does not tell."""
    prefix, _, name = path.rpartition(".")
    if inspect.isfunction(value):
        try:
            found = inspect.signature(value)
        except ValueError:  # a wrapper around a builtin
            pass
        else:
            return [] if list(found.parameters) == ["args", "kwargs"] else [found]
    if inspect.isdatadescriptor(value):
        return []
    native = getattr(value, "__name__", name)
    if prefix == "torch.Tensor":
        return [_without(s, "out") for s in _stubs("__init__.pyi", "TensorBase").get(name, [])]
    if prefix in ("torch", "torch.functional", "torch.nn.functional"):
        stubs = _stubs("_VariableFunctions.pyi", None).get(native, [])
        if prefix == "torch.nn.functional":
            # some tell of out=, some do not
            stubs = [_without(s, "out") for s in _stubs("_nn.pyi", None).get(native, []) or stubs]
        if stubs:
            return [
                s for s in stubs if "names" not in s.parameters and "out_dtype" not in s.parameters
            ]
    for operator in (native, _PREFIXES.get(prefix, "") + name):
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{operator}")
        # out= has no Python entrance
        if operator.startswith("_foreach") or prefix == "torch.nn.functional":
            schemas = [
                s
                for s in schemas
                if not any(a.is_out for a in s.arguments) or operator.endswith("_")
            ]
        if schemas:
            return [s for s in map(_of_schema, schemas) if s is not None]
    return _stubs("_VariableFunctions.pyi", None).get(native, [])


#: Defaults that mean that nothing was said.
_NOTHING = (
    "torch.strided",
    "torch.preserve_format",
    "torch.contiguous_format",
    "None",
    "()",
    "[]",
    "False",
)


def _same(ours: Any, theirs: Any) -> bool:
    """Whether two defaults say the same: equal, one number for a list of equal ones, or both
    nothing."""
    if ours == theirs or repr(ours) == repr(theirs):
        return True
    if isinstance(theirs, list) and theirs and not isinstance(ours, list):
        return all(ours == x for x in theirs)
    return repr(ours) in _NOTHING and repr(theirs) in _NOTHING


def disagreements(
    theirs: list[inspect.Signature], ours: inspect.Signature, prefix: str
) -> Iterator[str]:
    """What calls that PyTorch's overloads allow ours would refuse, and defaults that differ."""
    method = prefix == "torch.Tensor"
    for signature in theirs:
        params = list(signature.parameters.values())
        positional = [
            p for p in params if p.kind in (_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY)
        ]
        named = [p for p in params[1 if method else 0 :] if p.kind in (_POSITIONAL, _KEYWORD)]
        first = [object()] if method else []
        required = [p.name for p in params if p.kind is _KEYWORD and p.default is p.empty]
        calls: dict[str, tuple[list[Any], list[str]]] = {
            "by position": ([object()] * len(positional), required),
            "by keyword": (first, [p.name for p in named]),
            "required only": (first, [p.name for p in named if p.default is p.empty]),
        }
        spread = {p.name for p in ours.parameters.values() if p.kind is p.VAR_POSITIONAL}
        if any(
            p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) for p in params[int(method) :]
        ) or spread & {p.name for p in named}:
            del calls["by keyword"], calls["required only"]
        for how, (args, names) in calls.items():
            try:
                ours.bind(*args, **dict.fromkeys(names))
            except TypeError as error:
                yield f"{signature} {how}: {error}"
        for p in params:
            mine = ours.parameters.get(p.name)
            if (
                mine is None
                or p.default is p.empty
                or p.default is UNKNOWN
                or mine.default is p.empty
                or len(theirs) > 1
            ):
                continue
            if not _same(mine.default, p.default):
                yield f"default of {p.name}: {mine.default!r} where PyTorch has {p.default!r}"
    if len(theirs) == 1:
        extra = set(ours.parameters) - set(theirs[0].parameters) - {"memory_format", "pin_memory"}
        extra -= {"self", "input"} if method else set()
        if prefix == "torch.nn.functional":
            extra.discard("out")
        if extra and not any(p.kind is p.VAR_POSITIONAL for p in ours.parameters.values()):
            yield f"parameters that PyTorch lacks: {sorted(extra)}"
