"""Programs that were exported, in files that are loaded and called without the module's code."""

from __future__ import annotations

import copy
import json
import os
import platform
import sys
import tempfile
from typing import Any, BinaryIO

import jtorch as torch
from jtorch._src.facts.errors import not_offered
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.export.graph_signature import InputKind, TensorArgument
from jtorch.utils import _pytree as pytree

#: What tells these files from other programs'.
_MARK = "package.json"


def package_program(
    program: torch.export.ExportedProgram,
    path: str | os.PathLike[str] | BinaryIO | None,
    constants: bool,
    metadata: dict[str, str],
) -> Any:
    """Writes an exported program to a file (``.pt2``) for ``load_package``, and gives its path.

    Without ``constants`` the file has the sizes and types of parameters, buffers and constants
    alone.

    Raises:
        AssertionError: for paths that end otherwise.
    """
    if isinstance(path, (str, os.PathLike)) and not os.fspath(path).endswith(".pt2"):
        raise AssertionError(
            "Expect package path to be a file ending in .pt2, is None, or is a buffer. Instead got "
            f"{path}"
        )
    if path is None:
        handle, path = tempfile.mkstemp(suffix=".pt2")
        os.close(handle)
    if not constants:
        program = copy.copy(program)
        program._state_dict, program._constants = (
            {name: _without_memory(x) for name, x in tensors.items()}
            for tensors in (program.state_dict, program.constants)
        )
    said = json.dumps({"constants": constants, "metadata": metadata})
    torch.export.save(program, path, extra_files={_MARK: said})
    return path


def _without_memory(x: Any) -> Any:
    """Zeros of the same kind in the memory of one."""
    if not isinstance(x, torch.Tensor):
        return x
    made = torch.zeros((), dtype=x.dtype, device=x.device).expand(x.shape)
    return torch.nn.Parameter(made, x.requires_grad) if isinstance(x, torch.nn.Parameter) else made


def load_package(
    path: str | os.PathLike[str] | BinaryIO,
    model_name: str = "model",
    run_single_threaded: bool = False,
    num_runners: int = 1,
    device_index: int = -1,
) -> AOTICompiledModel:
    """The program in a file that ``torch._inductor.aoti_compile_and_package`` wrote.

    Raises:
        RuntimeError: if there is no such file.
        NotImplementedError: for files of PyTorch's, which hold machine code that calls its library,
            for names other than ``"model"``, and for another device.
    """
    del run_single_threaded, num_runners  # how PyTorch's code shares out its calls
    if model_name != "model":
        raise not_offered("load_package(model_name=...)", "a file holds one program")
    if device_index > 0:
        raise not_offered(
            "load_package(device_index=...)", "a program is called where its tensors are"
        )
    if isinstance(path, (str, os.PathLike)) and not os.path.exists(path):
        raise RuntimeError(f"file at path {os.fspath(path)} does not exist")
    said = {_MARK: ""}
    try:
        program = torch.export.load(path, extra_files=said)
    except ValueError as error:
        raise not_offered(
            "loading of packages that torch._inductor.aoti_compile_and_package did not write here",
            f"PyTorch's hold machine code that calls its own library ({error})",
        ) from error
    return AOTICompiledModel(program, **json.loads(said[_MARK]))


class AOTICompiledModel:
    """A program from a file, which is called as the exported module was.

    Results have no gradients. As in PyTorch, calls are not checked against what was exported: only
    the tensors among the arguments count, in their order, however they are nested, and sizes fail
    where an operator does not take them.

    Differs from torch: ``get_constant_fqns`` has all parameters, buffers and constants, since none
    are computed ahead.
    """

    def __init__(
        self,
        program: torch.export.ExportedProgram,
        constants: bool = True,
        metadata: dict[str, str] | None = None,
    ) -> None:
        self._program, self._metadata = program, metadata or {}
        self._module = program.module(check_guards=False)
        known = {**dict(self._module.named_parameters()), **dict(self._module.named_buffers())}
        self._constants = {
            spec.target: spec.target if spec.target in known else spec.target.replace(".", "_")
            for spec in program.graph_signature.input_specs
            if spec.target is not None
        }
        self._absent = set() if constants else set(self._constants)

    def __call__(self, *args: object, **kwargs: Any) -> Any:
        """What the program gives.

        Raises:
            RuntimeError: if another number of tensors is given, or constants are still to be
                loaded.
        """
        if self._absent:
            raise RuntimeError(
                f"the package holds no constants: load_constants must give {sorted(self._absent)}"
            )
        signature = self._program.call_spec
        inputs = [
            spec.arg
            for spec in self._program.graph_signature.input_specs
            if spec.kind is InputKind.USER_INPUT
        ]
        names = list(signature.in_spec.children()[1].context)
        given = [
            x
            for x in pytree.tree_leaves(
                (args, {n: kwargs[n] for n in (*names, *kwargs) if n in kwargs})
            )
            if isinstance(x, torch.Tensor)
        ]
        wanted = sum(isinstance(x, TensorArgument) for x in inputs)
        if len(given) != wanted:
            raise RuntimeError(f"expected inputs vector size to be {wanted}, but got {len(given)}")
        tensors = iter(given)
        leaves = [
            next(tensors) if isinstance(x, TensorArgument) else getattr(x, "value", None)
            for x in inputs
        ]
        positional, named = pytree.tree_unflatten(leaves, signature.in_spec)
        with torch.no_grad():
            return self._module(*positional, **named)

    def get_metadata(self) -> dict[str, str]:
        """What the program was made for, and what was said of it."""
        devices = [x.device.type for x in self._program.state_dict.values()]
        return {
            "AOTI_PLATFORM": sys.platform,
            "AOTI_MACHINE": platform.machine(),
            "AOTI_DEVICE_KEY": devices[0] if devices else "cpu",
            **self._metadata,
        }

    def get_constant_fqns(self) -> list[str]:
        """The names of parameters, buffers and constants."""
        return list(self._constants)

    def load_constants(
        self,
        constants_map: dict[str, torch.Tensor],
        *,
        check_full_update: bool,
        user_managed: bool = False,
        allow_h2d_copy: bool = False,
    ) -> None:
        """Puts tensors in the places of parameters, buffers and constants: copies of them, or with
        ``user_managed`` themselves, so that later writes to them count.

        Raises:
            RuntimeError: for names that the program does not have, for tensors of other sizes or
                dtypes, and with ``check_full_update`` if some are not given.
        """
        del allow_h2d_copy
        for name, x in constants_map.items():
            if name not in self._constants:
                raise RuntimeError(f"Constant not found: {name}")
            old = self._holder(name)
            if (old.shape, old.dtype) != (x.shape, x.dtype):
                raise RuntimeError(
                    f"Constant {name} is {old.dtype} of size {tuple(old.shape)}, but {x.dtype} of "
                    f"size {tuple(x.shape)} was given"
                )
        left = [name for name in self._constants if name not in constants_map]
        if check_full_update and left:
            raise RuntimeError(f"Constants are missing from a full update: {', '.join(left)}")
        for name, x in constants_map.items():
            self._holder(name, x.detach() if user_managed else x.detach().clone())
        self._absent -= set(constants_map)

    def _holder(self, name: str, new: torch.Tensor | None = None) -> torch.Tensor:
        """The tensor of a name, once ``new`` is in its place."""
        path, _, leaf = self._constants[name].rpartition(".")
        module = self._module.get_submodule(path)
        if new is not None:
            if leaf in module._parameters:
                new = torch.nn.Parameter(new, False)
            setattr(module, leaf, new)
        return getattr(module, leaf)

    def __deepcopy__(self, memo: dict[Any, Any] | None) -> AOTICompiledModel:
        """The same, as PyTorch's."""
        return self


__getattr__ = _refusals.missing(__name__)
