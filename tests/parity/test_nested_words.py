"""Strided nested tensors out of dense ones, and what they refuse in PyTorch's words."""

import pytest
import torch as oracle

import jtorch

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

EXPRESSIONS = """
N([torch.tensor(1.0), torch.tensor(2.0), torch.tensor([])])
torch.nested.to_padded_tensor(N([]), 4)
torch.nested.to_padded_tensor(a.mT, 0.0)
F.linear(a.mT, torch.ones(8, 5))
F.linear(a, a)
a.clone(memory_format=torch.channels_last)
a.mT.clone(memory_format=torch.contiguous_format).is_contiguous()
torch.tensor(2.0).mul_(a)
torch.tensor(2.0).add_(a)
torch.tensor([2.0]).mul_(a)
a.reshape(())
a.view(())
N([]).reshape(-1)
F.softmax(N([]), 1)
F.softmax(N([torch.tensor(0.0)]), 1)
torch.matmul(a, N([torch.ones(3), torch.ones(3)]))
torch.matmul(N([torch.ones(3), torch.ones(3)]), a)
torch.matmul(a, N([torch.ones(3, 2)] * 3))
torch.matmul(a, N([torch.ones(3, 2), torch.ones(2, 2)]))
torch.matmul(N([torch.ones(2, 12, 2, 3)] * 2), N([torch.ones(1, 2, 3, 2)] * 2))
torch.matmul(N([torch.ones(2, 2, 3)] * 2), N([torch.ones(3, 2)] * 2))
torch.bmm(a, N([torch.ones(3, 2)] * 3))
a.reshape(2, -1, -1)
a.reshape(2, -1, -1, 3)
a.reshape(2, -1, 3, -1)
a.view(2, -1, 1, -1)
a.reshape(2, -2, 3)
a.reshape(2, -1, 3, 1)
torch._nested_tensor_from_mask(data, mask)
torch._nested_tensor_from_mask(data, gaps)
torch._nested_tensor_from_mask(data, gaps, mask_check=False)
torch._nested_tensor_from_mask(data, mask.float())
torch._nested_tensor_from_mask(data, mask[:1])
torch._nested_tensor_from_mask(data[0], mask)
torch._nested_tensor_from_mask_left_aligned(data, mask), \
torch._nested_tensor_from_mask_left_aligned(data, gaps)
torch._nested_from_padded(data, torch.tensor([[1, 2], [3, 2]]))
torch._nested_from_padded(torch.arange(16.0).reshape(2, 2, 2, 2), torch.tensor([[1, 4], [2, 4]]), \
fuse_transform_0213=True)
torch._nested_from_padded(torch.arange(16.0).reshape(2, 2, 2, 2), torch.tensor([[1, 1, 2], [2, 2, \
2]]))
torch._nested_from_padded(data, torch.tensor([[1, 2], [4, 2]]))
torch._nested_from_padded(torch.ones(2, 1, 2), torch.tensor([[1, 2], [4, 2]]))
torch._nested_from_padded_and_nested_example(torch.nested.to_padded_tensor(a, 0), a)
torch._nested_compute_contiguous_strides_offsets(torch.tensor([[2, 3], [4, 5], [0, 2]]))
torch._nested_compute_contiguous_strides_offsets(torch.tensor([[2, 0, 4], [4, 5, 6]]))
torch._nested_compute_contiguous_strides_offsets(torch.zeros(2, 0, dtype=torch.int64))[0]
torch._nested_compute_contiguous_strides_offsets(torch.tensor([2, 3]))
torch._nested_compute_contiguous_strides_offsets(torch.ones(2, 2))
torch._nested_view_from_buffer(torch.arange(9), torch.tensor([[1, 2], [3, 2]]), torch.tensor([[2, \
1], [1, 3]]), torch.tensor([7, 0]))
torch._nested_view_from_buffer(torch.arange(9), torch.ones(2, 2), torch.ones(2, 2), \
torch.tensor([7, 0]))
torch._C._nn.gelu_(N([torch.tensor([-1.0, 0, 1])]))
torch._C._nn.gelu_(torch.tensor([-1.0, 0, 1]), approximate="tanh")
torch.functional.F is torch.nn.functional
""".strip().splitlines()


def result(torch, expression):
    N = torch.nested.nested_tensor
    names = {
        "torch": torch, "N": N, "F": torch.nn.functional,
        "data": torch.arange(12.0).reshape(2, 3, 2),
        "a": N([torch.arange(6.0).reshape(2, 3), torch.arange(9.0).reshape(3, 3)]),
        "mask": torch.tensor([[True, True, False], [True, False, False]]),
        "gaps": torch.tensor([[True, False, True], [True, False, False]]),
    }  # fmt: skip
    try:
        return str(eval(expression, names))
    except Exception as e:
        return type(e).__name__, str(e)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression):
    assert result(jtorch, expression) == result(oracle, expression)


def test_gradients_reach_the_dense_tensor():
    def program(torch):
        data = torch.arange(12.0).reshape(2, 3, 2).requires_grad_()
        mask = torch.tensor([[True, True, False], [True, False, False]])
        nested = torch._nested_tensor_from_mask(data * 2, mask)
        (torch.nested.to_padded_tensor(nested, 0) ** 2).sum().backward()
        return data.grad.tolist()

    assert program(jtorch) == program(oracle)
