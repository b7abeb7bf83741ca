"""Pickles name public modules only, and those that were made when inner modules had other names are
read."""

import importlib
import pickle
import pickletools

import numpy as np
import pytest

import jtorch as torch


def _named(module, name, *arguments):
    """A pickle of a call: what an earlier version wrote, by protocol 2."""
    return b"\x80\x02c" + f"{module}\n{name}\n".encode() + pickle.dumps(arguments, 2)[2:-1] + b"R."


@pytest.mark.parametrize(
    ("pickled", "value"),
    [
        (_named("jtorch.dtypes", "_by_name", "float16"), torch.float16),
        (_named("jtorch.size", "Size", (2, 3)), torch.Size([2, 3])),
        (_named("jtorch.devices", "device", "cpu", 1), torch.device("cpu:1")),
        (
            _named("jtorch.aten.overloads", "_find", "aten", "add", "Tensor"),
            torch.ops.aten.add.Tensor,
        ),
        (b"\x80\x02cjtorch.layouts\nchannels_last\n.", torch.channels_last),
        (b"\x80\x02cjtorch.dtypes\ndtype\n.", torch.dtype),
        (b"\x80\x02cjtorch.engine.run\nOutOfMemoryError\n.", torch.OutOfMemoryError),
        (b"\x80\x02cjtorch.interop\nAcceleratorError\n.", torch.AcceleratorError),
    ],
)
def test_pickles_of_earlier_versions_are_read(pickled, value):
    assert pickle.loads(pickled) == value


def test_tensors_of_earlier_versions_are_read():
    old = b"\x80\x02cjtorch.tensor_methods\n_rebuild\n(" + pickle.dumps(np.arange(3.0), 2)[2:-1]
    old += b"cjtorch.dtypes\n_by_name\nX\x07\x00\x00\x00float64\x85R\x88N}tR."
    found = pickle.loads(old)
    assert found.requires_grad
    assert found.dtype == torch.float64
    assert found.tolist() == [0.0, 1.0, 2.0]


def test_storages_of_earlier_versions_are_read():
    function, arguments = torch.ones(2).untyped_storage().__reduce__()
    assert function.__module__ == "jtorch.storage"
    assert (
        pickle.loads(_named("jtorch.storages", "_load_from_bytes", *arguments)).tolist()
        == [0, 0, 128, 63] * 2
    )


OBJECTS = {
    "tensor": torch.ones(2), "parameter": torch.nn.Parameter(torch.ones(2)),
    "size": torch.Size([2]), "dtype": torch.float32, "device": torch.device("cpu"),
    "layout": torch.strided, "format": torch.channels_last, "generator": torch.Generator(),
    "storage": torch.ones(2).untyped_storage(), "named": torch.ones(2, 2).max(0),
    "module": torch.nn.Linear(2, 2), "sparse": torch.eye(2).to_sparse(), "function": torch.add,
    "of nn": torch.nn.functional.relu, "classes": (torch.Size, torch.dtype),
    "operator": torch.ops.aten.add.Tensor, "distribution": torch.distributions.Normal(0.0, 1.0),
    "nested": torch.nested.nested_tensor([torch.ones(2)]),
    "functions": (torch.save, torch.load, torch.tensor, torch.einsum, torch.no_grad, torch.compile),
    "error": torch.OutOfMemoryError,
}  # fmt: skip


@pytest.mark.parametrize("kind", OBJECTS)
def test_pickles_name_no_inner_module(kind):
    pickled = pickle.dumps(OBJECTS[kind], 2)
    named = {
        argument.split(" ")[0]
        for opcode, argument, _ in pickletools.genops(pickled)
        if opcode.name == "GLOBAL"
    }
    assert not [module for module in named if module.startswith("jtorch._src")]
    assert any(module.startswith("jtorch") for module in named)


def test_modules_that_only_pickles_name_have_nothing_else():
    module = importlib.import_module("jtorch.dtypes")
    with pytest.raises(AttributeError, match=r"module 'jtorch\.dtypes' has no attribute 'float32'"):
        module.float32
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'jtorch\.views'"):
        importlib.import_module("jtorch.views")
