"""Masked tensors: reductions under a mask, and the tensor type whose elements can be absent."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

import jtorch as torch
from jtorch import masked

NAN, INF = float("nan"), float("inf")
MASK = [[True, False, False], [True, True, False]]


def mt(data=None, mask=MASK, **options):
    data = torch.arange(6.0).reshape(2, 3) if data is None else torch.as_tensor(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return masked.masked_tensor(data, torch.tensor(mask), **options)


def shown(m, fill=-1):
    assert masked.is_masked_tensor(m)
    return m.to_tensor(fill).tolist()


# ---- functions on plain tensors ------------------------------------------------------------------


X = torch.tensor([[1.0, NAN, 3.0], [INF, 2.0, NAN]])
M = torch.tensor([[True, False, True], [False, True, False]])


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("sum", (1,), [4, 2]), ("prod", (1,), [3, 2]), ("mean", (1,), [2, 2]),
        ("amax", (1,), [3, 2]), ("amin", (1,), [1, 2]), ("argmax", (1,), [2, 1]),
        ("argmin", (1,), [0, 1]), ("median", (1,), [1, 2]), ("norm", (1, 1), [4, 2]),
        ("var", (1, False), [1, 0]), ("std", (1, False), [1, 0]),
        ("cumsum", (1,), [[1, 1, 4], [0, 2, 2]]), ("cumprod", (1,), [[1, 1, 3], [1, 2, 2]]),
        ("normalize", (1, 1), [[0.25, 0, 0.75], [0, 1, 0]]),
    ],
)  # fmt: skip
def test_absent_elements_do_not_count(name, args, expected):
    found = getattr(masked, name)(X, *args, mask=M)
    assert type(found) is torch.Tensor and found.tolist() == expected


def test_softmax_family():
    x = torch.tensor([[0.0, NAN, 0.0]])
    m = torch.tensor([[True, False, True]])
    assert (
        masked.softmax(x, 1, mask=m).tolist()
        == [[0.5, 0, 0.5]]
        == masked.softmin(x, 1, mask=m).tolist()
    )
    assert torch.allclose(masked.log_softmax(x, 1, mask=m).exp(), torch.tensor([[0.5, 0, 0.5]]))
    assert torch.allclose(masked.logsumexp(x, 1, mask=m).exp(), torch.tensor([2.0]))
    both = masked.logaddexp(
        torch.tensor([0.0, 0.0]), torch.tensor([0.0, 0.0]), other_mask=torch.tensor([True, False])
    )
    assert torch.allclose(both.exp(), torch.tensor([2.0, 1.0]))


def test_masks_broadcast_and_no_element_gives_the_identity():
    x = torch.ones(2, 3, dtype=torch.int32)
    assert masked.sum(x, 0, mask=torch.tensor([True, False, True])).tolist() == [2, 0, 2]
    assert (
        masked.amax(x, 0, mask=torch.tensor([False])).tolist() == [torch.iinfo(torch.int32).min] * 3
    )
    assert (
        masked.sum(x).dtype is torch.int64
        and masked.sum(x, dtype=torch.float32).dtype is torch.float32
    )
    assert masked.mean(torch.ones(2), mask=torch.tensor([False, False])).isnan()
    assert masked.var(torch.tensor([1.0, 3.0]), correction=0).item() == 1


def test_gradients_of_functions_stay_off_absent_elements():
    x = X.clone().requires_grad_()
    masked.sum(x * x, mask=M).backward()
    # 2x at present ones; at absent ones 0 arrives, which a NaN or inf in the data still turns into
    # NaN on its way through the square
    assert x.grad[M].tolist() == [2, 6, 4]
    y = X.clone().requires_grad_()
    masked.softmax(y, 1, mask=M).sum().backward()
    assert not y.grad.isnan().any()


def test_errors_of_functions():
    with pytest.raises(IndexError, match="mask dimensionality higher"):
        masked.sum(torch.ones(2), mask=torch.ones(2, 2, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"Could not infer output dtype\. Input dtype must be"):
        masked.mean(torch.ones(2, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="dim=0 appears multiple times"):
        masked.sum(torch.ones(2, 2), (0, 0))
    with pytest.raises(ValueError, match="no fully masked out rows"):
        masked.median(torch.tensor([[1], [2]]), 1, mask=torch.tensor([[True], [False]]))
    with pytest.raises(NotImplementedError, match="identity of amax"):
        masked.amax(torch.tensor([True]), mask=torch.tensor([True]))


def test_helpers_that_libraries_import():
    x = torch.ones(2, 3)
    assert masked._canonical_dim((-1, 0), 2) == (0, 1) == masked._canonical_dim(None, 2)
    assert masked._input_mask(x, mask=torch.tensor([True, False, True])).shape == (2, 3)
    assert masked._output_mask(masked.sum, x, 1, mask=torch.tensor([[False], [True]])).tolist() == [
        False,
        True,
    ]
    assert masked._output_mask(
        masked.norm, x, 2.0, 0, keepdim=True, mask=torch.tensor([False])
    ).tolist() == [[False] * 3]
    assert (
        masked._reduction_identity("prod", x).item() == 1
        and masked._reduction_identity("mean", x) is None
    )
    assert masked._combine_input_and_mask(masked.amin, x, torch.tensor([True, True, False]))[
        0
    ].tolist() == [1, 1, INF]
    with pytest.raises(ValueError, match="requires explicit mask"):
        masked._input_mask(x)


# ---- the type ------------------------------------------------------------------------------------


def test_construction_copies_and_warns():
    data, mask = torch.ones(2), torch.tensor([True, False])
    with pytest.warns(UserWarning, match="prototype stage"):
        m = masked.masked_tensor(data, mask)
    data.add_(1)
    mask.fill_(True)
    assert (
        shown(m) == [1, -1]
        and m.get_data().tolist() == [1, 1]
        and type(m.get_data()) is torch.Tensor
    )
    assert (
        isinstance(m, torch.Tensor)
        and m.shape == (2,)
        and m.dtype is torch.float32
        and m.dim() == 1
    )
    with pytest.warns(UserWarning, match="prototype|requires_grad") as seen:
        assert not masked.masked_tensor(
            torch.ones(1, requires_grad=True), torch.tensor([True])
        ).requires_grad
    assert len(seen) == 2 and "requires_grad" in str(seen[1].message)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("data", "mask", "error", "text"),
    [
        (1.0, torch.tensor([True]), TypeError, "data must be a Tensor"),
        (mt(), torch.tensor(MASK), TypeError, "data must be a Tensor"),
        (torch.ones(2), [True, True], TypeError, "mask must be a Tensor"),
        (torch.ones(2), torch.ones(2), TypeError, "mask must have dtype bool."),
        (
            torch.ones(2, dtype=torch.complex64),
            torch.ones(2) > 0,
            TypeError,
            "torch.complex64 is not supported in MaskedTensor.",
        ),
        (torch.ones(2), torch.ones(2, 2) > 0, ValueError, r"data.dim\(\) must equal mask.dim\(\)"),
        (torch.ones(2), torch.ones(3) > 0, ValueError, r"data.size\(\) must equal mask.size\(\)"),
    ],
)
def test_construction_refuses(data, mask, error, text):
    with pytest.raises(error, match=f"^{text}$"):
        masked.masked_tensor(data, mask)


def test_repr():
    assert repr(mt()) == (
        "MaskedTensor(\n"
        "  [\n"
        "    [  0.0000,       --,       --],\n"
        "    [  3.0000,   4.0000,       --]\n"
        "  ]\n"
        ")"
    )
    assert (
        repr(mt([1, 2], [True, False]))
        == str(mt([1, 2], [True, False]))
        == "MaskedTensor(\n  [1,       --]\n)"
    )
    assert [repr(mt()[1, i]) for i in (0, 2)] == [
        "MaskedTensor(  3.0000, True)",
        "MaskedTensor(--, False)",
    ]
    assert f"{mt()[1, 0]}" == "MaskedTensor(  3.0000, True)"


def test_pointwise_functions_keep_the_mask():
    m = mt()
    for r, expected in [
        (m + 1, [[1, -1, -1], [4, 5, -1]]), (1 + m, [[1, -1, -1], [4, 5, -1]]),
        (m * m, [[0, -1, -1], [9, 16, -1]]), (torch.ones(2, 3) - m, [[1, -1, -1], [-2, -3, -1]]),
        (m**2, [[0, -1, -1], [9, 16, -1]]), (-m, [[0, -1, -1], [-3, -4, -1]]),
        (m.clamp(1, 3.5), [[1, -1, -1], [3, 3.5, -1]]),
        (6 / (m + 1), [[6, -1, -1], [1.5, 1.2, -1]]), (m // 2, [[0, -1, -1], [1, 2, -1]]),
    ]:  # fmt: skip
        assert torch.allclose(r.to_tensor(-1.0), torch.tensor(expected, dtype=torch.float32)), (
            r,
            expected,
        )
    assert (m > 3).get_data().dtype is torch.bool and shown(m == m, False) == MASK
    assert shown(torch.ones(2, 2, 3) + m)[1] == shown(m + 1)
    assert m.double().dtype is torch.float64 and shown(m.to(torch.int32)) == shown(m)


def test_in_place():
    m = mt()
    assert m.add_(1) is m and m.neg_() is m and shown(m) == [[-1, -1, -1], [-4, -5, -1]]
    m *= 2
    assert shown(m) == [[-2, -1, -1], [-8, -10, -1]]
    assert m.copy_(mt()) is m and shown(m) == shown(mt())


def test_masks_must_match():
    other = mt(mask=[[True] * 3] * 2)
    for call in (
        lambda: mt() + other,
        lambda: mt().add_(other),
        lambda: torch.maximum(mt(), other),
    ):
        with pytest.raises(ValueError, match="Input masks must match"):
            call()


def test_reductions():
    m = mt()
    assert (
        m.sum().item() == 7 and torch.sum(m).item() == 7 and m.mean().item() == pytest.approx(7 / 3)
    )
    assert (
        shown(m.sum(1)) == [0, 7] and shown(m.sum(0)) == [3, 4, -1] and shown(m.mean(1)) == [0, 3.5]
    )
    assert (
        shown(m.sum(0, keepdim=True)) == [[3, 4, -1]]
        and shown(m.amax((0, 1))) == 4
        and shown(m.prod(1)) == [0, 12]
    )
    assert (
        shown(m.argmax(1)) == [0, 1]
        and shown(torch.var(m, 1, unbiased=False)) == [0, 0.25]
        and shown(m.norm(dim=1)) == [0, 5]
    )
    assert shown((m > 1).all(1), None or False) == [False, True] and m.all().item() is False
    assert shown(m.std(1)[1:]) == [pytest.approx(0.5**0.5)]


def test_hidden_values_do_not_leak():
    m = mt([[NAN, 1.0, INF], [2.0, NAN, 3.0]], [[False, True, False], [True, False, True]])
    assert m.sum().item() == 6 and shown(m.mean(0)) == [2, 1, 3] and m.amax().item() == 3
    assert torch.allclose(m.softmax(1).to_tensor(0.0)[0], torch.tensor([0.0, 1.0, 0.0]))
    empty = mt([[NAN, NAN]], [[False, False]])
    assert (
        repr(empty.sum()) == "MaskedTensor(--, False)" and repr(empty.softmax(1)).count("--") == 2
    )


def test_shapes_carry_the_mask():
    m = mt()
    assert (
        shown(m[0]) == [0, -1, -1]
        and shown(m[:, 1]) == [-1, 4]
        and shown(m[m.get_mask()]) == [0, 3, 4]
    )
    assert shown(m.view(3, 2)) == [[0, -1], [-1, 3], [4, -1]] and shown(m.t()) == [
        [0, 3],
        [-1, 4],
        [-1, -1],
    ]
    assert shown(torch.cat([m, m], 1)[0]) == [0, -1, -1] * 2 and shown(
        torch.stack([m, m])[1]
    ) == shown(m)
    assert [shown(part) for part in m.split(2, 1)] == [[[0, -1], [3, 4]], [[-1], [-1]]]
    assert (
        shown(m.expand(2, 2, 3)[1])
        == shown(m.unsqueeze(0)[0])
        == shown(m.clone())
        == shown(m.detach())
    )
    assert shown(torch.where(torch.tensor([[True], [False]]), m, torch.zeros(2, 3))) == [
        [0, -1, -1],
        [0, 0, 0],
    ]
    with pytest.raises(TypeError, match="mask must have dtype bool"):
        torch.cat([m, torch.ones(2, 3)])


def test_scalars():
    m = mt()
    assert float(m[1, 0]) == 3 and bool(m[1, 1]) and m[1, 1].item() == 4 and len(m) == 2
    for call in (m[0, 1].item, lambda: float(m[0, 1])):
        with pytest.raises(ValueError, match="expected a mask tensor"):
            call()
    for call in (m.numpy, m.tolist):
        with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
            call()


def test_unknown_functions_are_declined_with_a_warning():
    for call, name in [
        (lambda: torch.cumsum(mt(), 0), "aten.cumsum.default"),
        (lambda: mt().relu(), "aten.relu.default"), (lambda: mt().unbind(0), "aten.unbind.int"),
        (lambda: mt().T, "aten.permute.default"),
    ]:  # fmt: skip
        with (
            pytest.warns(UserWarning, match="not implemented for MaskedTensor"),
            pytest.raises(TypeError, match=name),
        ):
            call()
    with (
        pytest.warns(UserWarning, match="mm is not"),
        pytest.raises(TypeError, match="unsupported operand"),
    ):
        mt() @ mt().t()
    with pytest.raises(ValueError, match=r"len\(kwargs\) must equal 0"):
        mt().add(1, alpha=2)


def test_other_types_decide_first():
    class Other:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "other"

    assert torch.add(mt(), Other()) == "other" and torch.cumsum(mt(), Other()) == "other"


def test_gradients_are_masked():
    m = mt(requires_grad=True)
    (m * m).sum().backward()
    assert shown(m.grad) == [[0, -1, -1], [6, 8, -1]] and m.grad is m.grad
    (m * m).sum().backward()
    assert shown(m.grad) == [[0, -1, -1], [12, 16, -1]]
    (g,) = torch.autograd.grad(m.exp().sum(), m)
    assert shown(g.log()) == [[0, -1, -1], [3, 4, -1]]
    for path in (
        lambda x: x.get_data().sum(),
        lambda x: x.to_tensor(0).sum(),
        masked.sum,
        lambda x: x.sum(1).sum(),
    ):
        x = mt(requires_grad=True)
        path(x).backward()
        assert shown(x.grad) == [[1, -1, -1], [1, 1, -1]]


@pytest.mark.filterwarnings("ignore:MaskedTensor is in prototype")
def test_as_masked_tensor_is_differentiable_in_its_data():
    mask = torch.tensor([True, False, True])
    d = torch.tensor([4.0, -1.0, 9.0], requires_grad=True)
    m = masked.as_masked_tensor(d, mask)
    m.sqrt().sum().backward()  # the square root of -1 is hidden, and so is its gradient
    assert torch.allclose(d.grad.to_tensor(0.0), torch.tensor([1 / 4, 0, 1 / 6]))
    d.sum().backward()
    assert torch.allclose(d.grad.get_data(), torch.tensor([1 / 4 + 1, 1, 1 / 6 + 1]))
    d.grad = None
    d.sum().backward()
    assert type(d.grad) is torch.Tensor
    d.grad = None
    masked.as_masked_tensor(d * 2, mask).sqrt().sum().backward()
    assert torch.allclose(d.grad, torch.tensor([2 / (2 * 8**0.5), 0, 2 / (2 * 18**0.5)]))


def test_gradients_of_plain_operands_are_clean():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w * mt([3.0, NAN], [True, False])).sum().backward()
    assert w.grad.tolist() == [3, 0]


def test_copies_and_pickles():
    m = mt(requires_grad=True)
    for c in (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert shown(c) == shown(m) and c.requires_grad and c.is_leaf and c is not m
    assert copy.deepcopy(m).get_mask() is not m.get_mask()


def test_coverage_partitions_the_list():
    from jtorch.wrappers import coverage
    from jtorch.wrappers import masked as package

    sets = package.COVERAGE
    every = coverage.overridable_functions()
    parts = [set(sets[name]) for name in ("unchanged", "special", "delegates", "refused")]
    assert set().union(*parts) == every and sum(map(len, parts)) == len(every)
    assert (
        torch.reshape in sets["unchanged"]
        and torch.add in sets["special"]
        and torch.Tensor.dim in sets["delegates"]
    )
    assert torch.cumsum in sets["refused"] and all(sets["refused"].values())


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_sparse_masks_of_dense_tensors() -> None:
    x, mask = (
        torch.arange(6.0).reshape(2, 3),
        torch.tensor([[True, False, True], [False, False, True]]),
    )
    for sparse in (mask.to_sparse(), mask.to_sparse_csr()):
        assert (
            masked.sum(x, 1, mask=sparse).tolist() == [2, 5]
            and masked.amax(x, mask=sparse).item() == 5
        )
        assert masked.mean(x, 1, mask=sparse).tolist() == [1, 5]
        assert (
            masked.softmax(x, 1, mask=sparse).tolist() == masked.softmax(x, 1, mask=mask).tolist()
        )
