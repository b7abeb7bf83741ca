"""Arguments that functions refuse, and results at the edge of what they accept, against PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

import jtorch

pytestmark = pytest.mark.parity

#: Expressions in ``t`` (the package), its ``nn``, ``F`` and ``L`` (linalg), the identity ``A``,
#: ones ``v``, ``i`` and ``M`` of integers, and ``e``, an empty tensor of int32.
SAMPLES = (
    """
nn.RNN(5, 6)(t.ones(0, 10, 5)) | nn.LSTM(5, 6)(t.ones(0, 5))
nn.GRU(5, 6, batch_first=True)(t.ones(3, 0, 5))
nn.LSTM(5, 6)(t.ones(2, 0, 5))[0].shape | nn.Linear(2, 2).to('cpu', copy=True)
nn.Linear(2, 2).to(t.float64, copy=True)
nn.MultiheadAttention(8, 2)(*[t.zeros(3, 0, 8)] * 3)[0].shape
nn.MultiheadAttention(8, 2)(t.zeros(0, 2, 8), t.zeros(3, 2, 8), t.zeros(3, 2, 8))[1].shape
t.chain_matmul()
t._C._infer_size(t.Size((2, 2)), t.Size((3,))) | L.householder_product(A, v, out=e)
t.orgqr(A, v, out=e)
L.eig(A, out=(e, t.empty(0, dtype=t.cfloat))) | L.eigvals(A, out=e)
L.eig(A, out=(t.empty(0, dtype=t.cfloat), e))
L.eigvals(A, out=t.empty(0)) | t.cholesky_inverse(A, out=e) | t.cholesky_solve(A, A, out=e)
L.pinv(A, out=e)
L.matrix_rank(A, out=t.empty(0, dtype=t.bool)) | t.inverse(A, out=e) | L.cond(A, out=e)
t.geqrf(A, out=(e, e)) | t.ormqr(A, v, A, out=e)
L.tensorsolve(t.ones(24, 24).reshape(2, 3, 4, 4, 3, 2), t.ones(3, 4)) | t.addr(M, i, i, beta=True)
t.addr(A, v, v, beta=True)
t.addr(A, v, v, alpha=True) | t.addr(A > 0, v > 0, v > 0, beta=True)
i.index_add(0, i[:1].long(), i[:1], alpha=1j)
v.index_add(0, i[:1].long(), v[:1], alpha=1j) | t.frexp(v, out=(v.double(), e))
t.frexp(v, out=(t.empty(2), i.long()))
L.svdvals(t.stack([A, A * float('nan')])) | L.svd(A * float('nan'))
t._debug_has_internal_overlap(A.T)
t._debug_has_internal_overlap(v[:1].expand(3))
t._debug_has_internal_overlap(t.zeros(4, 4)[:, ::2])
t._addmm_activation(-A, A, A, beta=2).tolist()
t._compute_linear_combination(t.ones(2, 3), t.ones(4, 2)).shape
t._C._infer_size(t.Size((2, 1)), t.Size((3,))) | t.backends.opt_einsum.set_flags(True, 'auto')
t.backends.opt_einsum.set_flags(None, 'other') | t.backends.opt_einsum.flags(False).__enter__()
""".replace("\n", " | ")
    .strip(" |")
    .split(" | ")
)


def _answer(t: Any, sample: str) -> str:
    names = {
        "t": t, "nn": t.nn, "F": t.nn.functional, "L": t.linalg, "A": t.eye(2), "v": t.ones(2),
        "i": t.ones(2, dtype=t.int32), "M": t.ones(2, 2, dtype=t.int32),
        "e": t.empty(0, dtype=t.int32),
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(sample, names))
        except Exception as e:
            return f"{type(e).__name__}: {e}"


@pytest.mark.parametrize("sample", SAMPLES)
def test_answers_and_refusals_are_those_of_pytorch(sample: str) -> None:
    assert _answer(jtorch, sample) == _answer(torch, sample)


def _conv_gradients(t: Any, layer: Any, x: Any) -> list[Any]:
    x = x.requires_grad_()
    layer(x).abs().sum().backward()
    return [p.grad.tolist() for p in (layer.weight, layer.bias, x)]


@pytest.mark.filterwarnings("ignore:Initializing zero-element")
@pytest.mark.parametrize("kind", ["float32", "complex64"])
def test_a_bias_of_a_convolution_of_nothing_has_no_gradient(kind: str) -> None:
    found = []
    for t in (jtorch, torch):
        dtype = getattr(t, kind)
        found.append(
            [
                _conv_gradients(
                    t, t.nn.Conv1d(0, 4, 2, stride=2, dtype=dtype), t.zeros(2, 0, 9, dtype=dtype)
                ),
                _conv_gradients(
                    t, t.nn.Conv2d(0, 4, 2, dtype=dtype), t.zeros(2, 0, 5, 5, dtype=dtype)
                ),
                _conv_gradients(
                    t, t.nn.Conv1d(2, 4, 2, dtype=dtype), t.zeros(0, 2, 9, dtype=dtype)
                ),
            ]
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 4)])
def test_sparse_gradients_of_empty_tables(shape: tuple[int, int]) -> None:
    for t in (jtorch, torch):
        weight = t.zeros(*shape, requires_grad=True)
        t.nn.functional.embedding(t.tensor([], dtype=t.long), weight, sparse=True).sum().backward()
        assert weight.grad.shape == shape
        assert weight.grad.layout is t.sparse_coo


@pytest.mark.parametrize(
    ("shape", "mode"),
    [((5, 7), "r"), ((7, 5), "r"), ((7, 5), "complete"), ((5, 7), "complete"), ((7, 5), "reduced")],
)
def test_what_of_qr_can_be_differentiated(shape: tuple[int, int], mode: str) -> None:
    start = torch.randn(
        *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3)
    ) + 2 * torch.eye(*shape)
    found = []
    for t in (jtorch, torch):
        x = t.tensor(start.tolist(), dtype=t.float64, requires_grad=True)
        try:
            q, r = t.linalg.qr(x, mode=mode)
            (q.abs().sum() + r.pow(2)[0].sum()).backward()
            found.append(x.grad.tolist())
        except RuntimeError as e:
            found.append(str(e))
    if isinstance(found[1], str):
        assert found[0] == found[1]
    else:
        jtorch.testing.assert_close(*(jtorch.tensor(f) for f in found))


def test_gradients_of_complex_qr() -> None:
    x = jtorch.randn(4, 3, dtype=jtorch.complex128, requires_grad=True)
    assert jtorch.autograd.gradcheck(lambda a: jtorch.linalg.qr(a).R.abs(), (x,))
    assert jtorch.autograd.gradgradcheck(lambda a: jtorch.linalg.qr(a).R.abs(), (x,))


def test_deprecated_overloads_warn_each_time_when_told_to() -> None:
    for t in (jtorch, torch):
        t.set_warn_always(True)
        try:
            for _ in range(2):
                with pytest.warns(UserWarning, match="This overload of addbmm_ is deprecated"):
                    t.ones(2, 2).addbmm_(2, t.ones(1, 2, 2), t.ones(1, 2, 2))
        finally:
            t.set_warn_always(False)


def test_import_machinery_can_be_told_to_look_again() -> None:
    import importlib

    assert importlib.invalidate_caches() is None  # every finder of ``sys.meta_path`` is asked


def _with_indices(t: Any) -> dict[str, tuple[tuple[int, ...], Any]]:
    F = t.nn.functional
    found: dict[str, tuple[tuple[int, ...], Any]] = {
        "max": ((3, 3), lambda x: x.max(0)), "min": ((3, 3), lambda x: x.min(0)),
        "median": ((3, 3), lambda x: x.median(0)), "nanmedian": ((3, 3), lambda x: x.nanmedian(0)),
        "sort": ((3, 3), lambda x: x.sort(0)), "topk": ((3, 3), lambda x: x.topk(2)),
        "kthvalue": ((3, 3), lambda x: x.kthvalue(1)), "mode": ((3, 3), lambda x: x.mode(0)),
        "cummax": ((3, 3), lambda x: x.cummax(0)), "cummin": ((3, 3), lambda x: x.cummin(0)),
    }  # fmt: skip
    for n in (1, 2, 3):
        for name in ("max_pool", "adaptive_max_pool", "fractional_max_pool"):
            if (name, n) != ("fractional_max_pool", 1):
                options = {"output_size": 2} if name[0] == "f" else {}
                function = getattr(F, f"{name}{n}d")
                found[f"{name}{n}d"] = (
                    (2, 2, *(4,) * n),
                    lambda x, f=function, o=options: f(x, 2, return_indices=True, **o),
                )
    return found


@pytest.mark.parametrize("name", _with_indices(jtorch))
@pytest.mark.parametrize("changed", [0, 1])
def test_indices_that_gradients_need_must_not_change(name: str, changed: int) -> None:
    for t in (jtorch, torch):
        shape, function = _with_indices(t)[name]
        x = t.randn(*shape, requires_grad=True)
        results = function(x)
        with t.no_grad():
            results[changed].add_(1)
        if changed:
            words = (
                r"modified by an inplace operation: \[torch.LongTensor .* is at version 1; "
                r"expected version 0"
            )
            with pytest.raises(RuntimeError, match=words):
                results[0].sum().backward()
        else:
            results[0].sum().backward()
            again = t.zeros(()) + x.grad
            x.grad = None
            function(x)[0].sum().backward()
            assert t.equal(x.grad, again) or name[0] == "f"


_FRACTIONAL = [
    *({"kernel_size": k} for k in ((), (1,), 2, (2, 2, 2))),
    *(
        {"output_size": o}
        for o in (
            (),
            (3,),
            (3, 3, 3),
            (0, 1),
            (1, 0),
            (0, 1, 1),
            (1, 1, 0),
            (-1, 2),
            (-1, 2, 1),
            0,
            (9, 3),
            (3, 9, 3),
        )
    ),
    *(
        {"output_size": None, "output_ratio": r}
        for r in ((0.5, 0.5), (0.5,), (0.5, 0.5, 0.5), 0.01, (0.1, 0.5), (0.5,) * 4)
    ),
]


@pytest.mark.parametrize("options", _FRACTIONAL, ids=str)
@pytest.mark.parametrize("n", [2, 3])
def test_sizes_of_fractional_pooling(n: int, options: dict[str, Any]) -> None:
    found = []
    for t in (jtorch, torch):
        given = {
            "kernel_size": 2,
            "output_size": (3,) * n,
            "_random_samples": t.full((1, 2, n), 0.4),
            **options,
        }
        x = t.arange(2.0 * 7**n).reshape(2, *(7,) * n).requires_grad_()
        try:
            made = getattr(t.nn.functional, f"fractional_max_pool{n}d")(x, **given)
            made.sum().backward()
            found.append((made.tolist(), tuple(made.shape), x.grad.tolist()))
        except Exception as e:
            found.append(f"{type(e).__name__}: {e}")
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["linspace", "logspace", "arange", "range"])
@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
def test_sequences_fill_results_of_as_many_elements(name: str) -> None:
    arguments = {"arange": (4,), "range": (0, 3)}.get(name, (0, 3, 4))
    found = []
    for t in (jtorch, torch):
        x = t.zeros(2, 3)
        view = x.narrow(1, 1, 2)
        getattr(t, name)(*arguments, out=view)
        other = t.zeros(2, 2).T
        getattr(t, name)(*arguments, out=other)
        found.append((x.tolist(), tuple(view.shape), other.tolist()))
    assert found[0] == found[1]
