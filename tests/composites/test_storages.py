"""Storages as programs see them: slices, writing, other dtypes on one memory, and tensors that are
given another size."""

from __future__ import annotations

import pytest

import jtorch as torch


def test_resize_shows_the_storage():
    x = torch.arange(10.0)
    y = x[2:4]
    y.resize_(5)
    assert y.tolist() == [2, 3, 4, 5, 6] and y.storage_offset() == 2
    y.zero_()
    assert x.tolist() == [0, 1, 0, 0, 0, 0, 0, 7, 8, 9]
    z = x[::2]
    assert z.resize_(3).tolist() == [0, 1, 0] and z.stride() == (1,)
    t = torch.arange(10).view(2, 5).t()
    assert t.resize_(3, 2).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert torch.arange(10).resize_(3).resize_(10).tolist() == list(range(10))


def test_resize_beyond_the_storage_takes_its_elements_along():
    x = torch.arange(4.0)
    y = x[1:]
    assert y.resize_(2, 3).tolist() == [[1, 2, 3], [0, 0, 0]] and x.tolist() == [0, 1, 2, 3]
    for size in (-1, 2**62):
        with pytest.raises(RuntimeError):
            y.resize_(size)
    assert torch.zeros(3).resize_(0).shape == (0,) and torch.zeros(()).resize_(2).shape == (2,)


def test_strided_looks_at_views_as_other_dtypes():
    x = torch.tensor([0.0, 1.0, 2.0, 3.0])
    ones = x.view(torch.int32).as_strided((2,), (1,), 1)
    assert ones.dtype == torch.int32 and ones.tolist() == [0x3F800000, 0x40000000]
    assert x.view(torch.int32)[1:].as_strided((2,), (1,)).tolist() == ones.tolist()
    assert x.view(torch.uint8).as_strided((2, 2), (4, 1), 6).tolist() == [[128, 63], [0, 64]]
    assert (
        x.view(torch.float64).as_strided((1,), (1,), 1).tolist()
        == x.view(torch.float64)[1:].tolist()
    )
    c = torch.tensor([1 + 2j, 3 + 4j])
    assert c.real.as_strided((2,), (1,), 1).tolist() == [2, 3] and c.imag.as_strided(
        (2,), (2,)
    ).tolist() == [2, 4]
    ones.zero_()
    assert x.tolist() == [0, 0, 0, 3]
    with pytest.raises(RuntimeError, match=r"out of bounds for storage of size 16$"):
        x.view(torch.float64).as_strided((3,), (1,))


def test_set_takes_the_storage_of_another_dtype():
    x = torch.tensor([0.0, 1.0])
    y = torch.empty(0, dtype=torch.int32).set_(x.untyped_storage(), 0, (2,), (1,))
    assert y.tolist() == [0, 0x3F800000]
    y.zero_()
    assert x.tolist() == [0, 0]
    for source in (x, x.untyped_storage()):
        torch.empty(0).set_(source, 1, (2,), (1,))
        assert x.untyped_storage().nbytes() == 12  # it has grown


def test_slices_of_storages_share_their_bytes():
    x = torch.tensor([0.0, 1.0, 2.0])
    s = x.untyped_storage()[4:8]
    assert s.tolist() == [0, 0, 128, 63] and s.nbytes() == 4
    x[1] = 0
    assert s.tolist() == [0, 0, 0, 0]
    s[3] = 64
    s[2:4] = 64
    assert x.tolist() == [0, 3, 2]
    x.untyped_storage().fill_(1)
    assert x.view(torch.uint8).tolist() == [1] * 12 and s.tolist() == [1] * 4
    x.storage()[1] = 2.5
    assert x[1].item() == 2.5 and x.storage().fill_(7).tolist() == x.tolist() == [7, 7, 7]
    t = torch.arange(4.0).view(2, 2).t()
    t.untyped_storage()[4:8].fill_(0)
    assert t.tolist() == [[0, 2], [0, 3]]


def test_errors_of_storages():
    s = torch.zeros(2).untyped_storage()
    for call, kind, words in (
        (
            lambda: s[::2],
            RuntimeError,
            "Trying to slice with a step of 2, but only a step of 1 is supported",
        ),
        (lambda: s[100], IndexError, "index 100 out of range for storage of size 8"),
        (lambda: s[2**70], ValueError, "Overflow when unpacking long long"),
        (lambda: s["a"], TypeError, "can't index a torch.UntypedStorage with str"),
        (
            lambda: s.__setitem__(0, 1.5),
            RuntimeError,
            "can only set storage content with a int types, but got float instead",
        ),
        (lambda: s.__setitem__(9, 1), RuntimeError, "out of bounds"),
        (lambda: s.fill_(1.5), RuntimeError, "fill_ expects int, but got float"),
        (
            lambda: torch.UntypedStorage(2**62),
            RuntimeError,
            "DefaultCPUAllocator: can't allocate memory",
        ),
        (
            lambda: torch.UntypedStorage(-1),
            RuntimeError,
            "alloc_cpu() seems to have been called with negative number",
        ),
        (
            lambda: torch.UntypedStorage(1.5),
            RuntimeError,
            "torch.UntypedStorage(): Expected a sequence type, but got float",
        ),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert words in str(caught.value)
    assert torch.UntypedStorage([1, 2, 255]).tolist() == [1, 2, 255]


def test_bools_in_foreign_memory_count_once():
    t = torch.frombuffer(bytearray([0, 1, 2, 255]), dtype=torch.bool)
    assert (
        t.sum().item() == 3
        and t.tolist() == [False, True, True, True]
        and (t == torch.tensor([False, True, True, True])).all()
    )


def test_memory_taken_back_from_numpy_is_read_again():
    x = torch.arange(4.0) * 1
    a = x.numpy()
    assert x.tolist() == [0, 1, 2, 3]
    a[0] = 9
    del a
    assert x.view(2, 2).tolist() == [[9, 1], [2, 3]]
