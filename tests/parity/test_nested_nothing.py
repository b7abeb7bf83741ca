"""Nested tensors without items, or whose items have no elements: what they give, and what they
refuse in PyTorch's words."""

import pytest
import torch as oracle

import jtorch

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

EXPRESSIONS = """
none.unsqueeze(0)
none.unsqueeze(1)
none.unsqueeze(-1)
none.unsqueeze(2)
none.chunk(3, -1)
none.chunk(1, 0)
none.chunk(1, 1)
torch.cat([none, none])
torch.cat([none, none], -1)
torch.cat([none, some])
torch.cat([some, none])
torch.cat([some, some])
none + none, none * 2, none.clone(), none.relu()
torch.nested.to_padded_tensor(none, 0.0)
torch.nested.to_padded_tensor(rows, 0.0)
torch.nested.to_padded_tensor(rows, 0.0, (3, 4, 5))
torch.nested.to_padded_tensor(N([torch.zeros(2, 0), torch.zeros(1, 0)]), 0.0)
torch.nested.to_padded_tensor(N([torch.zeros(0)]), 0.0)
torch.nested.to_padded_tensor(some, 7.0), some.to_padded_tensor(1.0, (2, 3, 4))
torch.nested.to_padded_tensor(torch.nested.as_nested_tensor([torch.zeros(0, 3, \
requires_grad=True)]), 0.0)
torch.nested.to_padded_tensor(J([torch.zeros(0, 3)]), 0.0)
torch.matmul(rows, N([torch.zeros(3, 0)] * 2))
torch.matmul(rows, N([torch.ones(3, 2)] * 2))
torch.matmul(N([torch.ones(2, 3)] * 2), N([torch.zeros(3, 0)] * 2))
torch.matmul(some, N([torch.ones(3, 2)] * 2))
torch.matmul(N([torch.zeros(2, 0, 3)] * 2), N([torch.ones(2, 3, 1)] * 2))
torch.matmul(none, none)
torch.bmm(rows, N([torch.zeros(3, 0)] * 2))
N([torch.zeros(2, 0), torch.zeros(0, 3), torch.zeros(2, 3)])._nested_tensor_strides()
N([torch.zeros(2, 0, 4)])._nested_tensor_strides()
rows.transpose(1, 2)._nested_tensor_strides(), rows.unsqueeze(1)._nested_tensor_strides()
N([torch.zeros(2, 0)]).is_contiguous(), N([torch.zeros(2, 0)]).transpose(1, 2).is_contiguous()
J([torch.ones(2, 1), torch.zeros(0, 1)]).amax(1)
J([torch.ones(2, 1), torch.zeros(0, 1)]).amin(1, keepdim=True)
J([torch.ones(2, 1).half(), torch.zeros(0, 1).half()]).max(1).values.tolist()
J([torch.ones(2, 1).long(), torch.zeros(0, 1).long()]).min(1).values.tolist()
J([torch.ones(2, 1), torch.zeros(0, 1)]).sum(1), J([torch.ones(2, 1), torch.zeros(0, 1)]).prod(1)
J([torch.ones(2, 1), torch.zeros(0, 1)]).max()
""".strip().splitlines()


def result(torch, expression):
    def jagged(items):
        return torch.nested.nested_tensor(items, layout=torch.jagged)

    N = torch.nested.nested_tensor
    names = {
        "torch": torch, "N": N, "J": jagged, "none": N([]), "rows": N([torch.zeros(0, 3)] * 2),
        "some": N([torch.ones(2, 3), torch.zeros(0, 3)]),
    }  # fmt: skip
    try:
        return str(eval(expression, names))
    except Exception as e:
        return type(e).__name__, str(e).partition("\n")[0]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression):
    assert result(jtorch, expression) == result(oracle, expression)
