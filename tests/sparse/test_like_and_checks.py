"""Tensors like sparse ones, checks of parts by themselves, and conversions between layouts that are
refused."""

from __future__ import annotations

import pytest

import jtorch as torch

COMPRESSED = [torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]
BLOCKED = (torch.sparse_bsr, torch.sparse_bsc)


def _made(layout, shape=(4, 6), dtype=None):
    dense = torch.arange(1.0, 1 + torch.Size(shape).numel(), dtype=dtype).reshape(shape)
    return dense.to_sparse(layout=layout, blocksize=(2, 3) if layout in BLOCKED else None)


def _parts(t):
    first = (
        t.crow_indices() if t.layout in (torch.sparse_csr, torch.sparse_bsr) else t.ccol_indices()
    )
    second = (
        t.col_indices() if t.layout in (torch.sparse_csr, torch.sparse_bsr) else t.row_indices()
    )
    return first, second, t.values()


@pytest.mark.parametrize("layout", COMPRESSED)
def test_tensors_like_compressed_ones_have_their_positions(layout):
    x = _made(layout)
    for made in (torch.empty_like(x), torch.randn_like(x), torch.ones_like(x, dtype=torch.float64)):
        assert made.layout is layout
        assert made.shape == x.shape
        assert all(torch.equal(a, b) for a, b in zip(_parts(made)[:2], _parts(x)[:2], strict=True))
        assert made.values().shape == x.values().shape
    assert torch.equal(torch.full_like(x, 3).values(), torch.full_like(x.values(), 3))
    assert made.dtype is torch.float64
    assert made.values().sum().item() == 24
    assert torch.zeros_like(x).values().numel() == 0


@pytest.mark.parametrize("layout", COMPRESSED)
@pytest.mark.parametrize("other", [torch.strided, torch.sparse_coo, *COMPRESSED])
def test_a_tensor_like_a_compressed_one_has_no_other_layout(layout, other):
    if other is layout:
        return
    with pytest.raises(
        RuntimeError, match="empty_like with different sparse layout is not supported"
    ):
        torch.empty_like(_made(layout), layout=other)
    with pytest.raises(
        NotImplementedError,
        match="Could not run 'aten::empty_strided' with arguments from the 'SparseCsrCPU' backend",
    ):
        torch.empty_like(torch.ones(2, 2), layout=layout)


def test_memory_formats_are_none_of_sparse_tensors():
    with pytest.raises(RuntimeError, match="only supported by strided"):
        torch.empty_like(_made(torch.sparse_coo), memory_format=torch.preserve_format)
    with pytest.raises(RuntimeError, match="unsupported memory format Preserve"):
        torch.empty_like(_made(torch.sparse_csr), memory_format=torch.preserve_format)
    assert (
        torch.empty_like(
            _made(torch.sparse_coo), layout=torch.strided, memory_format=torch.contiguous_format
        ).layout
        is torch.strided
    )


@pytest.mark.parametrize("layout", COMPRESSED)
@pytest.mark.parametrize("shape", [(4, 6), (2, 4, 6), (2, 3, 4, 6)])
def test_parts_are_checked(layout, shape):
    x = _made(layout, shape)
    first, second, values = _parts(x)
    named = getattr(torch, f"_validate_{str(layout).removeprefix('torch.')}_tensor_args")
    assert named(first, second, values, shape) is None
    check = torch._validate_sparse_compressed_tensor_args
    assert check(first, second, values, shape, layout) is None
    names = "crow_indices|ccol_indices"
    with pytest.raises(
        RuntimeError, match=f"({names}).shape\\[-1\\] must be equal to the number of"
    ):
        check(first[..., :-1].contiguous(), second, values, shape, layout)
    with pytest.raises(
        RuntimeError,
        match=f"({names}) and (col|row)_indices must have the same dtype, bot got Int and Long",
    ):
        check(first.int(), second, values, shape, layout)
    with pytest.raises(RuntimeError, match="dtype must be Int or Long, but got Short"):
        check(first.short(), second.short(), values, shape, layout)
    with pytest.raises(
        RuntimeError, match="expected sparse compressed tensor layout but got Strided"
    ):
        check(first, second, values, shape, torch.strided)
    if len(shape) == 2:
        with pytest.raises(
            RuntimeError, match=f"expected ({names}) to be a contiguous tensor per batch"
        ):
            check(torch.stack([first, first], -1)[..., 0], second, values, shape, layout)
        with pytest.raises(RuntimeError, match="is not satisfied"):
            check(first, second - 1, values, shape, layout)


def test_parts_of_coo_tensors_are_checked():
    x = _made(torch.sparse_coo)
    assert torch._validate_sparse_coo_tensor_args(x._indices(), x._values(), (4, 6)) is None
    with pytest.raises(RuntimeError, match="size is inconsistent with indices: for dim 0"):
        torch._validate_sparse_coo_tensor_args(x._indices(), x._values(), (3, 6))


@pytest.mark.parametrize(
    ("layout", "other"),
    [(torch.sparse_csr, torch.sparse_csc), (torch.sparse_csc, torch.sparse_csr)],
)
def test_batches_change_their_order(layout, other):
    x = _made(layout, (2, 3, 4, 6))
    made = x.to_sparse(layout=other)
    assert made.layout is other
    assert torch.equal(made.to_dense(), x.to_dense())


def test_conversions_that_are_refused():
    with pytest.raises(
        RuntimeError,
        match=r"coo_to_sparse_csr: .* for input tensors with sparse_dim.*!=2 is not supported",
    ):
        _made(torch.sparse_coo, (2, 4, 6)).to_sparse_csr()
    with pytest.raises(
        RuntimeError,
        match="sparse_compressed_to_sparse_csc: expected SparseCsr or SparseCsc layout but got "
        "SparseBsr",
    ):
        _made(torch.sparse_bsr).to_sparse_csc()
    with pytest.raises(
        RuntimeError,
        match="sparse_compressed_to_sparse: conversion from SparseCsr to SparseBsr for batched "
        "inputs",
    ):
        _made(torch.sparse_csr, (2, 4, 6)).to_sparse(layout=torch.sparse_bsr, blocksize=(2, 2))
    with pytest.raises(
        RuntimeError,
        match=r"to_sparse_bsr: conversion .* with blocksize changed from \[2, 3\] to \[2, 2\]",
    ):
        _made(torch.sparse_bsr).to_sparse_bsr((2, 2))
    assert torch.equal(
        _made(torch.sparse_bsr).to_sparse_bsc((2, 3)).to_dense(), _made(torch.sparse_bsr).to_dense()
    )


def test_parts_of_batches_without_elements_are_checked():
    starts = torch.zeros(2, 3, 5, dtype=torch.int64)
    check = torch._validate_sparse_csr_tensor_args
    assert check(starts, starts[..., :0], torch.ones(2, 3, 0), (2, 3, 4, 6)) is None
