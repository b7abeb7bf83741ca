"""Storages that get another size: all tensors on them look at the new memory."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest

import jtorch as torch


def test_a_grown_storage_is_seen_by_all_its_tensors():
    x = torch.arange(4.0)
    tail, turned = x[2:], x.view(2, 2).t()
    storage = x.untyped_storage()
    assert storage.resize_(32) is storage and storage.nbytes() == 32
    wide = x.as_strided((8,), (1,))
    wide.fill_(3)
    assert (
        x.tolist() == [3, 3, 3, 3]
        and tail.tolist() == [3, 3]
        and turned.tolist() == [[3, 3], [3, 3]]
    )
    tail.mul_(2)
    turned[0, 1] = 7
    assert wide.tolist() == [3, 3, 7, 6, 3, 3, 3, 3] and x.data_ptr() == wide.data_ptr()
    assert tail.untyped_storage() == storage and hash(tail.untyped_storage()) == hash(storage)


def test_views_of_other_dtypes_and_bits_follow_too():
    z = torch.zeros(2, dtype=torch.complex64)
    conjugate, parts = z.conj(), torch.view_as_real(z)
    bits = torch.zeros(3)
    ints = bits.view(torch.int32)
    for t in (z, bits):
        t.untyped_storage().resize_(101)
    z[0] = 1j
    bits[2] = 1
    assert (
        conjugate.tolist() == [-1j, 0]
        and conjugate.is_conj()
        and parts.tolist() == [[0, 1], [0, 0]]
    )
    assert ints.tolist() == [0, 0, 1065353216] and bits.untyped_storage().nbytes() == 101


def test_freed_memory_can_be_had_again():
    x = torch.ones(2, 3)
    row, storage = x[1], x.untyped_storage()
    storage.resize_(0)
    assert storage.nbytes() == 0 and x.shape == (2, 3) and x.tolist() == [[0] * 3] * 2
    storage.resize_(24)
    x.copy_(torch.arange(6.0).view(2, 3))
    assert row.tolist() == [3, 4, 5]


def test_resize_of_a_view_grows_what_it_looks_at():
    x = torch.arange(4.0)
    y = x[1:]
    assert y.resize_(2, 4) is y and y._base is x and x._version == y._version == 1
    assert x.untyped_storage().nbytes() == 36 and y.storage_offset() == 1
    x.fill_(7)
    assert y.tolist() == [[7, 7, 7, 0], [0, 0, 0, 0]]
    y.fill_(2)
    assert x.tolist() == [7, 2, 2, 2]
    assert torch.zeros(3).resize_(1, 3, 2, 2, memory_format=torch.channels_last).stride() == (
        12,
        1,
        6,
        3,
    )


def test_a_larger_out_grows_the_memory_of_its_views():
    x = torch.ones(2)
    y = x[:1]
    with pytest.warns(UserWarning, match="was resized"):
        torch.add(torch.arange(4.0), 1, out=x)
    assert x.tolist() == [1, 2, 3, 4] and y.untyped_storage().nbytes() == 16
    x.zero_()
    assert y.tolist() == [0]


def test_set_reaches_beyond_the_end():
    x, y = torch.arange(4.0), torch.tensor([])
    y.set_(x.untyped_storage(), 3, (2, 2), (1, 2))
    assert x.untyped_storage().nbytes() == 28 and y.tolist() == [[3, 0], [0, 0]] and y._version == 1
    y.fill_(5)
    assert x.tolist() == [0, 1, 2, 5]
    same = torch.arange(4.0)
    with pytest.raises(
        RuntimeError,
        match=r"sizes \[4\], strides \[1\], storage offset 2, and itemsize 4 requiring a storage "
        r"size",
    ):
        same.set_(same, 2, (4,), (1,))  # its size is that already: torch looks at the end only then
    with pytest.raises(RuntimeError, match="invalid storage offset -1"):
        y.set_(x, -1, (2,), (1,))
    with pytest.raises(RuntimeError, match=r"unequal size length \(1\) and stride length \(2\)"):
        y.set_(x, 0, (2,), (1, 1))
    with pytest.raises(RuntimeError, match='device "cpu" to a storage on different device "meta"'):
        y.set_(torch.empty(2, device="meta"))


def test_any_dtype_looks_at_an_untyped_storage():
    shorts = torch.arange(6, dtype=torch.int16)
    y = torch.tensor([]).set_(shorts.untyped_storage())
    assert y.shape == (3,) and y.view(torch.int16).tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(
        RuntimeError,
        match="Expected a Storage of type float or an UntypedStorage, but got type Short",
    ):
        y.set_(shorts.storage())
    with pytest.raises(
        RuntimeError, match="Could not set tensor of type short int to a tensor of type float"
    ):
        y.set_(shorts)


def test_memory_of_others_keeps_its_size():
    array = np.arange(4.0)
    x, plain = torch.from_numpy(array), torch.zeros(2)
    numbers = plain.numpy()
    storage = x.untyped_storage()
    for refused in (
        lambda: x.resize_(8),
        lambda: plain.resize_(9),
        lambda: storage.resize_(99),
        lambda: x.set_(x, 0, (9,), (1,)),
    ):
        with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
            refused()
    assert not x.untyped_storage().resizable() and torch.zeros(1).untyped_storage().resizable()
    assert x.resize_(2).tolist() == [0, 1] and numbers.shape == (2,)


@pytest.mark.parametrize(
    ("size", "error", "words"),
    [(-1, RuntimeError, "18446744073709551615"), ("a", RuntimeError, "expects an int, but got str"),
     (2**70, ValueError, "Overflow"),
     (2**60, RuntimeError, "can't allocate memory")],
)  # fmt: skip
def test_impossible_sizes(size, error, words):
    x = torch.arange(2.0)
    with pytest.raises(error, match=words):
        x.untyped_storage().resize_(size)
    assert x.tolist() == [0, 1]


def test_gradients_after_the_memory_grew():
    a = torch.ones(3, requires_grad=True)
    b = a * 2
    c = b[1:]
    b.untyped_storage().resize_(100)
    c.mul_(5)
    b.sum().backward()
    assert a.grad.tolist() == [2, 10, 10] and b.tolist() == [2, 10, 10]


def test_grown_storages_are_saved_whole():
    x = torch.arange(3.0)
    x.untyped_storage().resize_(24)
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    again = torch.load(file)
    assert again.tolist() == [0, 1, 2] and again.untyped_storage().nbytes() == 24


def test_meta_storages_have_sizes_too():
    m = torch.empty(4, device="meta")
    assert m.resize_(100).untyped_storage().nbytes() == 400
    assert m.untyped_storage().resize_(0).nbytes() == 0 and m.shape == (100,)


def test_writes_are_noticed_by_backward_while_numpy_has_the_memory():
    w = torch.ones(3, requires_grad=True)

    def refused(z):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.backward()

    x = torch.ones(3)
    z = (x * w).sum()
    shared = x.numpy()
    first, second = (x * w).sum(), (x[:2] * w[:2]).sum()
    x.add_(1)
    for each in (z, first, second):
        refused(each)
    z = (x * w).sum()
    shared += 1  # what NumPy does is not counted
    z.backward()
    y = torch.exp(w)
    z = (y * y).sum()
    y.detach().numpy()
    y.add_(1)
    refused(z)
    x = torch.from_numpy(np.ones(3, np.float32))
    z = (x * w).sum()
    x.add_(1)
    refused(z)


def test_copies_share_memory_as_what_was_copied_did():
    x = torch.zeros(4)
    made, storage, turned = copy.deepcopy([x, x.untyped_storage(), x.view(2, 2).t()])
    made.add_(1)
    assert turned.tolist() == [[1, 1], [1, 1]] and turned.stride() == (1, 2)
    assert storage.data_ptr() == made.data_ptr() and x.tolist() == [0, 0, 0, 0]
    typed, other = copy.deepcopy([x.storage(), x])
    other.fill_(2)
    assert list(typed) == [2, 2, 2, 2]


def test_copies_of_memory_that_numpy_sees_are_apart_from_it():
    array = np.zeros(3)
    x = torch.from_numpy(array)
    whole, part = copy.deepcopy([x, x[1:]])
    whole.fill_(3)
    assert part.tolist() == [3, 3] and array.tolist() == [0, 0, 0]


def test_classes_of_storages():
    assert torch.Storage is torch.FloatStorage and torch.FloatStorage in torch._storage_classes
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.Storage is torch.DoubleStorage
    finally:
        torch.set_default_dtype(torch.float32)
    with pytest.raises(RuntimeError, match="from_buffer: Not available for CUDA storage"):
        torch.cuda.FloatStorage.from_buffer(b"")


def test_addresses_of_nothing() -> None:
    x = torch.zeros(3)
    assert (
        x[3:].data_ptr()
        == torch.zeros(2, 0).data_ptr()
        == torch.zeros(0).untyped_storage().data_ptr()
        == 0
    )
    assert (
        x[3:].untyped_storage().data_ptr() == x.data_ptr() != 0
        and torch.zeros(0).resize_(2).data_ptr() != 0
    )
    meta = torch.zeros(2, 2, device="meta")
    assert (
        meta.data_ptr() == meta.untyped_storage().data_ptr() == 0
        and meta[1:].data_ptr() == 8
        and meta[2:].data_ptr() == 0
    )


def test_deep_copies_count_their_changes_by_themselves() -> None:
    base = torch.ones(4)
    whole, part = copy.deepcopy([base, base[:2]])
    assert (whole._version, part._version) == (1, 1)  # torch sets the memory of a new tensor
    whole.add_(1)
    assert (whole._version, part._version, part.tolist()) == (2, 1, [2.0, 2.0])
    assert copy.deepcopy(torch.nn.Parameter(base))._version == 0
    assert copy.deepcopy(torch.ones(2, device="meta"))._version == 0
