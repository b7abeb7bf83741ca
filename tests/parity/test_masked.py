"""The same expressions on masked tensors under jtorch and under PyTorch: results, masks, and kinds
and words of errors."""

from __future__ import annotations

import warnings

import pytest

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

oracle = pytest.importorskip("torch")
import jtorch  # noqa: E402

EXPRESSIONS = """
repr(x) | x[0] | x[1, 0] | x[1, 2] | x[:, 1] | x[x.get_mask()] | float(x[1, 0]) | float(x[1, 2])
len(x) | list(x) | copy.deepcopy(x)
copy.copy(x) | pickle.loads(pickle.dumps(x)) | x.tolist() | x.numpy() | x.data | x.detach()
x == x | -x | x.T | x.t() | x.mT
torch.relu(x) | F.relu(x) | x.shape | x.is_contiguous() | x.stride() | x @ x.t() | x.sum()
x.sum(dim=(0, 1)) | x.sum(0, keepdim=True)
x.mean(1) | x.argmax(1) | x.argmax() | x.amin(0) | x.std(1) | x.var(1) | x.all() | (x > 1).all(1)
x.prod(1) | x.softmax(1)
torch.softmax(x, 1) | F.softmax(x, dim=1) | F.softmin(x, 1) | torch.log_softmax(x, 1) | m.sum(x)
m.amax(x, 1) | m.softmax(x, 1) | x + x
x + m.masked_tensor(torch.ones(2, 3), torch.ones(2, 3) > 0) | x + torch.ones(3)
torch.ones(4, 2, 3) + x | 1 - x | 2 / x | 2**x | x**2
x**x | x // 2 | x % 2 | x.add(1, alpha=2) | torch.div(x, 2, rounding_mode="floor")
torch.round(x, decimals=1) | torch.clamp(x, min=1)
x.clamp(1, 2) | x.add_(1) | x.neg_() | x.to(torch.float64) | x.int() | x.view(-1)
x.reshape(3, 2) | x.flatten() | x.split(1)
x.chunk(3, 1) | torch.cat([x, x]) | torch.stack([x, x]) | torch.cat([x, torch.ones(2, 3)])
x.unsqueeze(0) | x.squeeze()
x.expand(2, 2, 3) | x.permute(1, 0) | x.transpose(0, 1) | x.unbind(0) | x.narrow(1, 0, 2)
x.select(0, 1) | x.masked_fill(x > 1, 0)
x.index_select(0, torch.tensor([1])) | torch.where(torch.ones(2, 3) > 0, x, x)
torch.where(x.get_mask(), x, torch.zeros(2, 3))
torch.zeros_like(x) | torch.ones_like(x) | x.new_zeros(2) | x.to_tensor(7) | torch.ones(2, 3) * x
torch.isnan(x) | torch.isfinite(x)
torch.max(x) | x.cumsum(0) | torch.allclose(x, x) | x.requires_grad_() | f"{x}" | repr(x.int())
repr(x > 1) | repr(x[1, 2]) | x.layout
x.type() | x.fill_(1) | x.copy_(x + 1) | torch.kron | F.dropout(x, training=False)
F.l1_loss(x, x + 1) | F.softsign(x)
torch.special.ndtr(x) | F.kl_div(x, x)
grad(x * x) | grad(x.exp()) | grad(x.softmax(1) * x) | grad(x.get_data()) | grad(x.sum(1))
(x * 2).requires_grad
m.masked_tensor(1, x) | m.masked_tensor(torch.ones(2), 1)
m.masked_tensor(torch.ones(2), torch.ones(2)) | m.sum(torch.ones(2, 2), (0, 0))
m.masked_tensor(torch.ones(2).bfloat16(), torch.ones(2) > 0)
m.masked_tensor(torch.ones(2), torch.ones(2, 2) > 0)
m.sum(torch.ones(2), 3)
m.mean(torch.ones(2).long()) | m.median(torch.arange(6.0).reshape(2, 3), 1, mask=x.get_mask())
m.std(torch.arange(6.0), correction=0)
m.norm(torch.arange(6.0).reshape(2, 3), 1, 0, mask=x.get_mask())
m.normalize(torch.arange(6.0), 2, 0) | m.cumprod(torch.arange(3.0), 0)
m.logaddexp(torch.ones(3), torch.ones(3), input_mask=torch.ones(3) > 2)
m.argmin(torch.arange(6), mask=torch.arange(6) > 2)
"""


def outcome(torch, expression):
    import copy
    import importlib
    import pickle

    m = importlib.import_module(f"{torch.__name__}.masked")

    def fresh(**options):
        data, mask = (
            torch.arange(6.0).reshape(2, 3),
            torch.tensor([[True, False, False], [True, True, False]]),
        )
        return m.masked_tensor(data, mask, **options)

    def grad(y):
        y.sum().backward()
        return names["x"].grad

    x = fresh(requires_grad=True) if "grad(" in expression else fresh()
    names = {
        "x": x,
        "m": m,
        "torch": torch,
        "F": torch.nn.functional,
        "copy": copy,
        "pickle": pickle,
        "grad": grad,
    }
    try:
        return shown(m, torch, eval(expression, names))
    except Exception as error:
        kind = str(error).split("Tensor'>")[0].split("<class")[0]
        return type(error).__name__, kind


def shown(m, torch, value):
    if isinstance(value, (tuple, list)):
        return [shown(m, torch, v) for v in value]
    if m.is_masked_tensor(value):
        hidden = value.get_data().masked_fill(~value.get_mask(), 0).detach()
        return (
            "masked",
            rounded(hidden.tolist()),
            value.get_mask().tolist(),
            str(value.dtype),
            value.requires_grad,
        )
    if isinstance(value, torch.Tensor):
        return "plain", rounded(value.detach().tolist()), str(value.dtype)
    return str(value) if not callable(value) else "callable"


def rounded(x):
    if isinstance(x, list):
        return [rounded(v) for v in x]
    return float(f"{x:.4g}") if isinstance(x, float) else x


@pytest.mark.parametrize(
    "expression",
    [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split(" | ")],
)
def test_expression(expression):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(oracle, expression)
        assert repr(outcome(jtorch, expression)) == repr(expected)
