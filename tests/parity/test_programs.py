"""Random programs of views, in-place and out-of-place operations and reads behave on jtorch as on PyTorch, step by step."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
import jtorch  # noqa: E402  after the skip

pytestmark = pytest.mark.parity

EXAMPLES = int(os.environ.get("JTORCH_PROGRAMS", "2000"))
SHAPES = [(2, 3), (3,), (4, 2), (2, 2, 3), (), (1, 3), (6,)]


def _pick(items, n):
    return items[n % len(items)]


def _dim(x, n):
    return n % max(x.dim(), 1) - (x.dim() if n % 2 and x.dim() else 0)


# Each action takes (namespace, tensors, a, b, c) and gives a tensor, a tuple of tensors, or None. It decides from shapes alone, which
# are equal on both sides, so that both do the same.

VIEWS = {
    "view_flat": lambda T, ts, a, b, c: _pick(ts, a).view(-1),
    "reshape": lambda T, ts, a, b, c: _pick(ts, a).reshape(*_factor(_pick(ts, a).numel(), b)),
    "view": lambda T, ts, a, b, c: _pick(ts, a).view(*_factor(_pick(ts, a).numel(), b)),
    "t": lambda T, ts, a, b, c: _pick(ts, a).t(),
    "T_permute": lambda T, ts, a, b, c: _pick(ts, a).permute(*_order(_pick(ts, a).dim(), b)),
    "transpose": lambda T, ts, a, b, c: _pick(ts, a).transpose(_dim(_pick(ts, a), b), _dim(_pick(ts, a), c)),
    "unsqueeze": lambda T, ts, a, b, c: _pick(ts, a).unsqueeze(b % (_pick(ts, a).dim() + 1)),
    "squeeze": lambda T, ts, a, b, c: _pick(ts, a).squeeze(),
    "squeeze_dim": lambda T, ts, a, b, c: _pick(ts, a).squeeze(_dim(_pick(ts, a), b)),
    "expand": lambda T, ts, a, b, c: _pick(ts, a).expand(2, *_pick(ts, a).shape),
    "expand_ones": lambda T, ts, a, b, c: _pick(ts, a).expand(*[3 if n == 1 else -1 for n in _pick(ts, a).shape]),
    "select": lambda T, ts, a, b, c: _pick(ts, a).select(_dim(_pick(ts, a), b), c % 3),
    "narrow": lambda T, ts, a, b, c: _pick(ts, a).narrow(_dim(_pick(ts, a), b), c % 2, 1 + c // 2 % 2),
    "getitem_int": lambda T, ts, a, b, c: _pick(ts, a)[b % 3 - 1],
    "getitem_slice": lambda T, ts, a, b, c: _pick(ts, a)[b % 3 :: 1 + c % 2],
    "getitem_mixed": lambda T, ts, a, b, c: _pick(ts, a)[..., None, b % 2 :],
    "diagonal": lambda T, ts, a, b, c: _pick(ts, a).diagonal(b % 3 - 1),
    "unfold": lambda T, ts, a, b, c: _pick(ts, a).unfold(_dim(_pick(ts, a), b), 2, 1 + c % 2),
    "as_strided": lambda T, ts, a, b, c: _pick(ts, a).as_strided((2, 2), (1 + b % 2, 1 + c % 2)),
    "movedim": lambda T, ts, a, b, c: _pick(ts, a).movedim(_dim(_pick(ts, a), b), 0),
    "chunk": lambda T, ts, a, b, c: _pick(ts, a).chunk(2, _dim(_pick(ts, a), b)),
    "split": lambda T, ts, a, b, c: _pick(ts, a).split(1 + b % 2, _dim(_pick(ts, a), c)),
    "unbind": lambda T, ts, a, b, c: _pick(ts, a).unbind(_dim(_pick(ts, a), b)),
    "detach": lambda T, ts, a, b, c: _pick(ts, a).detach(),
    "data": lambda T, ts, a, b, c: _pick(ts, a).data,
    "flatten": lambda T, ts, a, b, c: _pick(ts, a).flatten(),
    "unflatten": lambda T, ts, a, b, c: _pick(ts, a).unflatten(-1, (1, -1)),
    "view_as": lambda T, ts, a, b, c: _pick(ts, a).view_as(_pick(ts, b)),
    "mT": lambda T, ts, a, b, c: _pick(ts, a).mT,
    "contiguous": lambda T, ts, a, b, c: _pick(ts, a).contiguous(),
}
INPLACE = {
    "add_": lambda T, ts, a, b, c: _pick(ts, a).add_(_pick(ts, b)),
    "add_number": lambda T, ts, a, b, c: _pick(ts, a).add_(c % 5 - 2),
    "mul_": lambda T, ts, a, b, c: _pick(ts, a).mul_(_pick(ts, b)),
    "imul": lambda T, ts, a, b, c: _imul(_pick(ts, a), 0.5 + c % 3),
    "fill_": lambda T, ts, a, b, c: _pick(ts, a).fill_(c % 7),
    "zero_": lambda T, ts, a, b, c: _pick(ts, a).zero_(),
    "copy_": lambda T, ts, a, b, c: _pick(ts, a).copy_(_pick(ts, b)),
    "neg_": lambda T, ts, a, b, c: _pick(ts, a).neg_(),
    "setitem_int": lambda T, ts, a, b, c: _set(_pick(ts, a), b % 3 - 1, c % 5),
    "setitem_slice": lambda T, ts, a, b, c: _set(_pick(ts, a), slice(b % 2, None), _pick(ts, c)),
    "setitem_mask": lambda T, ts, a, b, c: _set(_pick(ts, a), _pick(ts, a) > 1, c % 5 - 2.0),
    "clamp_": lambda T, ts, a, b, c: _pick(ts, a).clamp_(-2, 2),
    "sigmoid_": lambda T, ts, a, b, c: _pick(ts, a).sigmoid_(),
    "t_": lambda T, ts, a, b, c: _pick(ts, a).t_(),
    "squeeze_": lambda T, ts, a, b, c: _pick(ts, a).squeeze_(),
}
PURE = {
    "add": lambda T, ts, a, b, c: _pick(ts, a) + _pick(ts, b),
    "sub": lambda T, ts, a, b, c: _pick(ts, a) - _pick(ts, b),
    "mul": lambda T, ts, a, b, c: _pick(ts, a) * _pick(ts, b),
    "scale": lambda T, ts, a, b, c: 0.5 * _pick(ts, a) + b % 3,
    "sin": lambda T, ts, a, b, c: _pick(ts, a).sin(),
    "sum": lambda T, ts, a, b, c: _pick(ts, a).sum(),
    "sum_dim": lambda T, ts, a, b, c: _pick(ts, a).sum(_dim(_pick(ts, a), b), keepdim=bool(c % 2)),
    "clone": lambda T, ts, a, b, c: _pick(ts, a).clone(),
    "where": (lambda T, ts, a, b, c: None)
    if not hasattr(jtorch, "where")
    else lambda T, ts, a, b, c: T.where(_pick(ts, a) > 0, _pick(ts, a), _pick(ts, b)),
    "cat": lambda T, ts, a, b, c: T.cat([_pick(ts, a), _pick(ts, b)], 0),
    "stack": lambda T, ts, a, b, c: T.stack([_pick(ts, a), _pick(ts, a)], b % (_pick(ts, a).dim() + 1)),
    "zeros_like": lambda T, ts, a, b, c: T.zeros_like(_pick(ts, a)),
    "out": lambda T, ts, a, b, c: T.add(_pick(ts, a), 1, out=_pick(ts, b)) if _pick(ts, a).shape == _pick(ts, b).shape else None,
    "index": lambda T, ts, a, b, c: _pick(ts, a)[T.tensor([0, b % 2])].contiguous(),
    "double": lambda T, ts, a, b, c: _pick(ts, a).double() if c % 4 == 0 else None,
    "new": lambda T, ts, a, b, c: T.from_numpy(_array(_pick(SHAPES, a), b)).clone(),
}
GRADS = {
    "requires_grad": lambda T, ts, a, b, c: [_pick(ts, a).requires_grad_()][1:],
    "leaf": lambda T, ts, a, b, c: T.from_numpy(_array(_pick(SHAPES, a), b)).clone().requires_grad_(),
    "exp": lambda T, ts, a, b, c: _pick(ts, a).clamp(-2, 2).exp(),
    "tanh": lambda T, ts, a, b, c: _pick(ts, a).tanh(),
    "no_grad_add": lambda T, ts, a, b, c: _no_grad(T, lambda: _pick(ts, a).add_(1)),
    "no_grad_view": lambda T, ts, a, b, c: _no_grad(T, lambda: _pick(ts, a)[:1]),
    "backward": lambda T, ts, a, b, c: _pick(ts, a).sum().backward(),
}


def _no_grad(T, f):
    with T.no_grad():
        return f()


def _array(shape, seed):
    return np.asarray(np.random.RandomState(seed % 997).randint(-3, 4, shape), np.float32)


def _factor(n, b):
    pairs = [(i, n // i) for i in range(1, n + 1) if n % i == 0] or [(0, 1)]
    return _pick(pairs, b)


def _order(ndim, b):
    order = list(range(ndim))
    return order[b % ndim :] + order[: b % ndim] if ndim else []


def _imul(x, y):
    x *= y
    return x


def _set(x, i, v):
    x[i] = v
    return x


def _run(action, T, ts, a, b, c):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = action(T, ts, a, b, c)
            if T is jtorch:
                jtorch.synchronize()  # errors that depend on values are raised when the trace runs
            return result, None
        except Exception as error:
            return None, error


def _compare(ours, theirs, label, grads=False):
    for i, (x, y) in enumerate(zip(ours, theirs, strict=True)):
        where = f"tensor {i} after {label}"
        assert tuple(x.shape) == tuple(y.shape), where
        assert str(x.dtype) == str(y.dtype), where
        np.testing.assert_allclose(x.detach().clone().numpy(), y.detach().numpy(), rtol=1e-5, atol=1e-5, err_msg=where)
        assert not y.numel() or x.stride() == y.stride(), f"{where}: strides {x.stride()} != {y.stride()}"
        assert x.storage_offset() == y.storage_offset(), where
        assert x._version == y._version, f"{where}: version {x._version} != {y._version}"
        assert x.is_contiguous() == y.is_contiguous(), where
        if grads:
            assert x.requires_grad == y.requires_grad, f"{where}: requires_grad {x.requires_grad}"
            assert _probe("is_leaf", x) == _probe("is_leaf", y), f"{where}: is_leaf"
            gx, gy = _grad(x), _grad(y)
            assert (gx is None) == (gy is None), f"{where}: grad {gx} {gy}"
            if isinstance(gy, str):
                assert gx == gy
            elif gx is not None:
                np.testing.assert_allclose(
                    gx.detach().clone().numpy(), gy.detach().numpy(), rtol=1e-4, atol=1e-4, err_msg=f"grad of {where}"
                )
    starts = lambda ts: [[x.data_ptr() == y.data_ptr() for x in ts] for y in ts]  # noqa: E731
    if all(x.numel() for x in ours):
        assert starts(ours) == starts(theirs), f"aliasing after {label}"


def _overlaps(t):
    """Whether elements share memory in another way than by ``expand``, which both sides refuse to write to."""
    strides = [(s, n) for s, n in zip(t.stride(), t.shape, strict=True) if n > 1]
    reach = 0
    for s, n in sorted(strides):
        if 0 < s <= reach:
            return True
        reach += s * (n - 1)
    return False


def _partly_same(name, ts, a, b, c):
    """Whether an operand shares memory with what is written in a way that torch does not look for: its result depends on its loops."""
    if name not in ("add_", "mul_", "copy_", "setitem_slice", "out"):
        return False
    target, other = (_pick(ts, b), _pick(ts, a)) if name == "out" else (_pick(ts, a), _pick(ts, c if name == "setitem_slice" else b))
    if target.untyped_storage().data_ptr() != other.untyped_storage().data_ptr():
        return False
    same = (target.shape, target.stride(), target.storage_offset()) == (other.shape, other.stride(), other.storage_offset())
    return not same and not (_dense(target) and _dense(other) and name != "setitem_slice")


def _dense(t):
    reach = 1
    for s, n in sorted((s, n) for s, n in zip(t.stride(), t.shape, strict=True) if n != 1):
        if s != reach:
            return False
        reach *= n
    return True


def _grad(t):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _probe("grad", t)


def _probe(name, t):
    """A property's value, or the name of the error that asking for it raises."""
    try:
        return getattr(t, name)
    except RuntimeError as error:
        return type(error).__name__


def _program(actions, steps, grads):
    ours = [jtorch.from_numpy(_array((2, 3), 1)).clone(), jtorch.from_numpy(_array((3,), 2)).clone()]
    theirs = [torch.from_numpy(_array((2, 3), 1)).clone(), torch.from_numpy(_array((3,), 2)).clone()]
    log = []
    for code, a, b, c, check in steps:
        name, action = _pick(actions, code)
        if (name in INPLACE or name in ("no_grad_add", "out")) and any(_overlaps(t) for t in theirs):
            continue  # what torch writes there depends on its loops
        if _partly_same(name, theirs, a, b, c):
            continue
        # Choices depend on how many tensors there are, equal on both sides.
        got, error = _run(action, jtorch, ours, a, b, c)
        want, expected = _run(action, torch, theirs, a, b, c)
        log.append(f"{name}({a}, {b}, {c})")
        label = "; ".join(log)
        if error is not None and "or another view of its base has been modified inplace" in str(expected):
            pass  # torch says so before it looks at the other arguments
        elif expected is not None or error is not None:
            assert type(error) is type(expected), f"{label}: {error!r} instead of {expected!r}"
        elif isinstance(want, (tuple, list)):
            assert len(got) == len(want), label
            ours.extend(got)
            theirs.extend(want)
        elif want is not None and not any(want is t for t in theirs):
            ours.append(got)
            theirs.append(want)
        elif want is not None:
            assert any(got is t for t in ours), f"{label}: another object than its operand"
        if check:
            _compare(ours, theirs, label, grads)
        if len(ours) > 12:
            del ours[12:], theirs[12:]
    _compare(ours, theirs, "; ".join(log), grads)


STEPS = st.lists(
    st.tuples(st.integers(0, 10_000), st.integers(0, 11), st.integers(0, 11), st.integers(0, 11), st.booleans()), min_size=1, max_size=12
)
OPTIONS = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@OPTIONS
@given(STEPS)
def test_programs_of_views_and_writes(steps):
    _program([*VIEWS.items(), *INPLACE.items(), *PURE.items()], steps, grads=False)


@OPTIONS
@given(STEPS)
def test_programs_with_gradients(steps):
    _program([*GRADS.items(), *GRADS.items(), *VIEWS.items(), *INPLACE.items(), *PURE.items()], steps, grads=True)
