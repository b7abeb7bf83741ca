"""Storages against PyTorch: what they are made of, convert to, copy, print and refuse."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch

import jtorch

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")]

#: Expressions in ``t`` (the package), ``u`` (untyped), ``f`` (of floats), ``m`` and ``n`` (on the
#: meta device, untyped and typed).
SAMPLES = (
    """
u.float() | u.bool() | u.type() | u.element_size() | u.is_cuda | u.is_sparse | u.is_pinned()
u.clone() | u.cpu() is u | u.new()
list(u) | u.to(device='cpu') is u | u.copy_(t.UntypedStorage([4, 5, 6, 7]))
u.copy_([1, 2, 3, 4]) | u.copy_(t.UntypedStorage([4, 5]))
u.filename | t.UntypedStorage.from_buffer(b'abcd', dtype=t.uint8)
t.UntypedStorage.from_buffer(b'abcd', 'big', dtype=t.int16)
t.UntypedStorage(1, 2) | t.UntypedStorage.from_buffer(b'abcd')
t.UntypedStorage([1, 2], device='meta') | t.UntypedStorage(device='xla')
t.UntypedStorage(2, device='cpu').size() | m.data_ptr() | m[0] | m[0:1] | m.tolist() | m.cpu()
m.clone() | m.fill_(1)
m._share_fd_cpu_() | m._share_filename_cpu_() | m.is_shared() | n.size() | n.nbytes()
n.data_ptr() | n[0] | n.tolist() | n.cpu()
n.fill_(1) | n._share_fd_cpu_() | t.zeros(3, device='meta').storage().data_ptr() | f.type()
f.double() | f.half() | f.bfloat16()
f.long() | f.int() | f.short() | f.char() | f.byte() | f.bool() | f.float() is f
f.complex_float() | f.complex_double()
f.element_size() | f.get_device() | f.is_pinned() | f.clone() | f.cpu() is f
f.pickle_storage_type()
f.copy_(t.FloatStorage([3, 2, 1])) | f.copy_(t.IntStorage([3, 2, 1]))
f.copy_(t.FloatStorage([1])) | list(f)
f._cdata == f.untyped()._cdata | f.fill_(7) | t.TypedStorage([1, 2]) | t.TypedStorage()
t.TypedStorage(dtype=t.int32)
t.TypedStorage(3, dtype=t.int32, device='meta') | t.TypedStorage('s')
t.TypedStorage(t.tensor([])) | t.TypedStorage(0, 0)
t.TypedStorage(0, wrap_storage=u, dtype=t.int32) | t.TypedStorage(wrap_storage=u)
t.TypedStorage(wrap_storage=u, dtype=0)
t.TypedStorage(wrap_storage=u, dtype=t.uint8, device='cpu') | t.FloatStorage(device='cpu')
t.FloatStorage(dtype=t.float)
t.FloatStorage(0, 0) | t.FloatStorage('string') | t.FloatStorage(None)
t.FloatStorage(0, wrap_storage=u) | t.storage._LegacyStorage()
t.FloatStorage(range(3)) | t.FloatStorage((1, 2)) | t.TypedStorage.from_file('x', False, 1)
t.tensor(f) | t.tensor(f, dtype=t.float64)
t.tensor(u, dtype=t.uint8) | t.tensor(u, dtype=t.int16) | t.tensor(u, dtype=t.float32)
t.as_tensor(f) | t.Tensor(f) | t.Tensor(u)
t.Tensor(t.DoubleStorage([1])) | t.zeros(2, dtype=t.long).storage_type() | t.zeros(2).storage_type()
isinstance(u, t.storage._StorageBase) | isinstance(f, t.storage._StorageBase)
t.storage._dtype_to_storage_type_map()[t.int16]
""".replace("\n", " | ")
    .strip(" |")
    .split(" | ")
)


def _answer(t: Any, sample: str) -> str:
    names = {
        "t": t, "u": t.UntypedStorage([1, 2, 3, 64]), "f": t.FloatStorage([1.5, 0.0, 3.0]),
        "m": t.UntypedStorage(8, device="meta"),
        "n": t.TypedStorage([1, 2], dtype=t.float32, device="meta"),
    }  # fmt: skip
    try:
        found = eval(sample, names)
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return repr(found)


@pytest.mark.parametrize("sample", SAMPLES)
def test_storages_answer_as_in_pytorch(sample: str) -> None:
    assert _answer(jtorch, sample) == _answer(torch, sample)


def test_copies_and_pickles_keep_elements_and_stay_together() -> None:
    import copy
    import pickle

    x = jtorch.arange(3.0)
    for made in (
        copy.copy(x.storage()),
        copy.deepcopy(x.storage()),
        pickle.loads(pickle.dumps(x.storage())),
    ):
        assert made.tolist() == [0, 1, 2]
        assert made.data_ptr() != x.storage().data_ptr()
    one, other = copy.deepcopy([x.storage(), x.storage()])
    assert one.data_ptr() == other.data_ptr()
    memory = jtorch.UntypedStorage([1, 2, 3, 4])
    memory.byteswap(jtorch.int16)
    assert memory.tolist() == [2, 1, 4, 3]
    looked = jtorch.Tensor(x.storage())
    looked[0] = 5
    assert x[0] == 5


def _records(t: Any) -> list[Any]:
    """What programs that read checkpoints lazily ask for: a tensor without memory, then one on the
    bytes of a record."""
    file = io.BytesIO()
    t.save({"a": t.arange(6.0).reshape(2, 3).t()}, file)
    reader = t.PyTorchFileReader(io.BytesIO(file.getvalue()))
    found: list[Any] = []
    for dtype, count in ((t.UntypedStorage, 24), (t.float32, 6), (t.float32, 24), (t.int16, 5)):
        try:
            record = reader.get_storage_from_record("data/0", count, dtype)
        except RuntimeError as error:
            found.append(str(error))
            continue
        whole = record._typed_storage()._untyped_storage
        storage = t.storage.TypedStorage(wrap_storage=whole, dtype=t.float32, _internal=True)
        made = t._utils._rebuild_tensor_v2(storage, 1, (2, 2), (1, 3), True, None, None)
        found += [
            str(record.dtype),
            tuple(record.shape),
            record.untyped_storage().nbytes(),
            made.tolist(),
            made.requires_grad,
        ]
        storage.fill_(7.0)
        found.append(made.tolist())
    nothing = t.storage.TypedStorage(dtype=t.float64, device="meta")
    made = t._utils._rebuild_tensor_v2(nothing, 2, (2, 3), (1, 2), False, None)
    return [
        *found,
        str(made.dtype),
        tuple(made.shape),
        made.stride(),
        made.storage_offset(),
        nothing.nbytes(),
        made.device.type,
    ]


def test_tensors_on_records_and_on_storages_of_programs() -> None:
    assert _records(jtorch) == _records(torch)
