"""Copying twins of views: equal to the view, contiguous, with memory of their own."""

from __future__ import annotations

import pytest

import jtorch as torch

CALLS = {
    "alias_copy": lambda x: (torch.alias_copy(x.t()), x.t()),
    "as_strided_copy": lambda x: (
        torch.as_strided_copy(x, (2, 2), (1, 2)),
        x.as_strided((2, 2), (1, 2)),
    ),
    "detach_copy": lambda x: (torch.detach_copy(x), x.detach()),
    "diagonal_copy": lambda x: (torch.diagonal_copy(x, 1), x.diagonal(1)),
    "expand_copy": lambda x: (torch.expand_copy(x, (4, 2, 3)), x.expand(4, 2, 3)),
    "narrow_copy": lambda x: (torch.narrow_copy(x, 1, 1, 2), x.narrow(1, 1, 2)),
    "permute_copy": lambda x: (torch.permute_copy(x, (1, 0)), x.permute(1, 0)),
    "select_copy": lambda x: (torch.select_copy(x, 1, 2), x.select(1, 2)),
    "slice_copy": lambda x: (torch.slice_copy(x, 1, 0, 3, 2), x[:, ::2]),
    "squeeze_copy": lambda x: (torch.squeeze_copy(x[None]), x),
    "t_copy": lambda x: (torch.t_copy(x), x.t()),
    "transpose_copy": lambda x: (torch.transpose_copy(x, 0, 1), x.transpose(0, 1)),
    "unfold_copy": lambda x: (torch.unfold_copy(x, 1, 2, 1), x.unfold(1, 2, 1)),
    "unsqueeze_copy": lambda x: (torch.unsqueeze_copy(x, 1), x.unsqueeze(1)),
    "view_as_real_copy": lambda x: (torch.view_as_real_copy(x + 1j), torch.view_as_real(x + 1j)),
    "view_copy": lambda x: (torch.view_copy(x, (3, 2)), x.view(3, 2)),
    "view_copy_dtype": lambda x: (torch.view_copy(x, torch.int32), x.view(torch.int32)),
}


@pytest.mark.parametrize("name", CALLS)
def test_copies(name: str) -> None:
    copy, view = CALLS[name](torch.arange(6.0).reshape(2, 3))
    assert copy.tolist() == view.tolist()
    assert copy.is_contiguous()
    before = view.tolist()
    copy.zero_()
    assert view.tolist() == before


def test_gradient_reaches_the_source() -> None:
    x = torch.arange(4.0, requires_grad=True)
    torch.slice_copy(x, 0, 1, 3).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0, 0.0]


def test_several_parts_are_written_to_out() -> None:
    x = torch.arange(3)
    assert [t.tolist() for t in torch.split_copy(x, 2)] == [[0, 1], [2]]
    assert [t.tolist() for t in torch.unbind_copy(x)] == [0, 1, 2]
    out = [torch.empty(1, dtype=torch.int64), torch.empty(2, dtype=torch.int64)]
    assert torch.split_with_sizes_copy(x, [1, 2], out=out) is None
    assert [t.tolist() for t in out] == [[0], [1, 2]]
    with pytest.raises(RuntimeError, match="expected an out= argument of size 2, got size 1"):
        torch.split_copy(x, 2, out=out[:1])


def test_slice_inverse_is_the_whole() -> None:
    x = torch.arange(10.0)
    part = x[2:8:2]
    whole = torch.slice_inverse(part, x, 0, 2, 8, 2)
    assert whole.tolist() == x.tolist()
    whole[0] = 7.0
    assert x[0].item() == 7.0
