"""Calls that PyTorch refuses, or takes in an unusual form: the same answer or the same error
here."""

import importlib
import warnings

import pytest

import jtorch

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.parity


def endless(t, flat=False):
    z = [] if flat else [0]
    z.append(z)
    return z


def backward_of_nothing(t):
    x = t.tensor(0.5, requires_grad=True)
    x.unfold(0, 0, 1).sum().backward()
    return x.grad


def write(index, value):
    def case(t):
        a = t.arange(4)
        a[index(t, a)] = value(t)
        return a

    return case


CALLS = {
    # shapes of least squares
    "lstsq batches of one": lambda t: t.linalg.lstsq(t.ones(1, 3, 2), t.ones(2, 3, 1)).rank,
    "lstsq more dimensions": lambda t: t.linalg.lstsq(t.eye(3), t.ones(2, 3, 3)),
    "lstsq vectors": lambda t: t.linalg.lstsq(t.ones(2, 3, 2), t.ones(2, 3)).rank,
    "lstsq other vectors": lambda t: t.linalg.lstsq(t.ones(2, 3, 3), t.ones(3, 3)),
    "lstsq few dimensions": lambda t: t.linalg.lstsq(t.ones(2, 4, 3), t.ones(4)),
    # sparse products
    "sparse.mm max": lambda t: t.sparse.mm(t.eye(2).to_sparse_csr(), t.ones(2, 1), "max"),
    "sparse.mm prod": lambda t: t.sparse.mm(t.eye(2).to_sparse_csr(), t.ones(2, 1), "prod"),
    # NumPy's names of operands
    "add x1": lambda t: t.add(x1=t.ones(2), x2=t.ones(2)),
    "add method x2": lambda t: t.ones(2).add(x2=t.ones(2)),
    "sum a": lambda t: t.sum(a=t.ones(2), axis=0, keepdims=True),
    "sin x": lambda t: t.sin(x=t.ones(2)),
    "composite a": lambda t: t.reshape(a=t.ones(2, 1), shape=(2,)),
    # what is written into
    "max values": lambda t: t.max(
        t.ones(2, 2), dim=0, out=(t.empty(2, dtype=t.int), t.empty(2, dtype=t.long))
    ),
    "min indices": lambda t: t.min(
        t.ones(2, 2), dim=0, out=(t.empty(2), t.empty(2, dtype=t.double))
    ),
    "median values": lambda t: t.median(
        t.ones(2, 2), dim=0, out=(t.empty(2, dtype=t.int), t.empty(2, dtype=t.long))
    ),
    "median indices": lambda t: t.median(t.ones(2, 2), dim=0, out=(t.empty(2), t.empty(2))),
    "kthvalue indices": lambda t: t.kthvalue(t.ones(2, 2), 1, dim=0, out=(t.empty(2), t.empty(2))),
    "mode indices": lambda t: t.mode(t.ones(2, 2), 0, out=(t.empty(2), t.empty(2))),
    "histogram hist": lambda t: t.histogram(
        t.ones(2), 1, out=(t.empty(1, dtype=t.double), t.empty(2))
    ),
    "histogram edges": lambda t: t.histogram(
        t.ones(2), 1, out=(t.empty(1), t.empty(2, dtype=t.double))
    ),
    "heaviside complex": lambda t: t.heaviside(t.ones(2), t.ones(2), out=t.ones(2, dtype=t.cfloat)),
    "heaviside double": lambda t: t.heaviside(t.ones(2), t.ones(2), out=t.ones(2, dtype=t.double)),
    "abs into double": lambda t: t.abs(
        t.ones(2, dtype=t.cfloat) * 2, out=t.empty(2, dtype=t.double)
    ),
    "abs into complex": lambda t: t.abs(
        t.ones(2, dtype=t.cfloat) * 2, out=t.empty(2, dtype=t.cfloat)
    ),
    "abs into long": lambda t: t.abs(t.ones(2, dtype=t.cfloat), out=t.empty(2, dtype=t.long)),
    "abs of real": lambda t: t.abs(t.ones(2), out=t.empty(2, dtype=t.double)),
    "logspace out": lambda t: t.logspace(0, 1j, 3, out=t.empty(3)),
    # indexing
    "mask, none": write(lambda t, a: a > -1, lambda t: t.tensor([])),
    "mask, too many": write(lambda t, a: a > 1, lambda t: t.ones(3)),
    "mask, dtype": write(lambda t, a: a > 1, lambda t: t.ones(2)),
    "places, too many": write(lambda t, a: t.tensor([0, 1]), lambda t: t.ones(3)),
    "places, dtype": write(lambda t, a: t.tensor([0, 1]), lambda t: t.ones(2)),
    "index_put_": lambda t: t.arange(4).index_put_((t.tensor([0, 1]),), t.ones(1, 3)),
    "index_put_ dtype": lambda t: t.arange(4).index_put_((t.tensor([0, 1]),), t.ones(2)),
    "index_put_ of one": lambda t: t.arange(4).index_put_((t.tensor([0, 1]),), t.tensor(2.0)),
    # views
    "unfold of nothing": lambda t: t.tensor(0.5).unfold(0, 0, 1),
    "unfold of one": lambda t: t.tensor(0.5).unfold(0, 1, 1),
    "gradient of nothing": backward_of_nothing,
    # constructors
    "sizes behind a tuple": lambda t: t.LongTensor((6, 0), 1, 1, 0),
    "new of a dict": lambda t: t.Tensor({}),
    "new with a device": lambda t: t.tensor([1]).new(t.tensor([1]), device="cpu"),
    "a list in itself": lambda t: t.tensor(endless(t)),
    "as_tensor of a list in itself": lambda t: t.as_tensor([[1, 2], endless(t)]),
    "a list of itself": lambda t: t.tensor(endless(t, True)),
    "logspace to complex": lambda t: t.logspace(0, 1j, 5, dtype=t.float),
    "linspace from complex": lambda t: t.linspace(t.tensor(1j), 1, 5, dtype=t.int),
    # storages
    "big shorts": lambda t: t.ShortStorage.from_buffer(bytearray([1, 2, 3, 4]), "big").tolist(),
    "one of two": lambda t: t.ShortStorage.from_buffer(bytearray([1, 2, 3, 4]), "big", 1).tolist(),
    "too many": lambda t: t.ShortStorage.from_buffer(bytearray([1, 2, 3, 4]), "big", 2, 1).tolist(),
    "no order": lambda t: t.IntStorage.from_buffer(bytearray([1, 2, 3, 4])),
    "wrong order": lambda t: t.IntStorage.from_buffer(bytearray([1, 2, 3, 4]), "middle"),
    "a part of one": lambda t: t.IntStorage.from_buffer(bytearray([1, 2, 3]), "big"),
    "behind the end": lambda t: t.ShortStorage.from_buffer(bytearray([1, 2]), "big", offset=9),
    # other forms
    "add of numbers first": lambda t: t.add(1, 2, t.ones(2)),
    "add of truths": lambda t: t.add(t.tensor(True), t.tensor(True), True),
    "roll without dims": lambda t: t.roll(t.arange(4).reshape(2, 2), 1, None),
    "sizes of nested and plain": lambda t: t.nested.nested_tensor([t.ones(2)]).is_same_size(
        t.ones(2)
    ),
    "sizes of plain and nested": lambda t: t.ones(2).is_same_size(
        t.nested.nested_tensor([t.ones(2)])
    ),
    "modes of grids": lambda t: (
        t.nn.functional.GRID_SAMPLE_INTERPOLATION_MODES,
        t.nn.functional.GRID_SAMPLE_PADDING_MODES,
    ),
    "grids of other batches": lambda t: t.grid_sampler_2d(
        t.ones(5, 5, 5, 5, 5), t.ones(1, 1, 1, 4, 4), 0, 0, True
    ),
    "deterministic": lambda t: t.use_deterministic_algorithms(1),
    "deterministic, warning": lambda t: t.use_deterministic_algorithms(True, warn_only="x"),
    "no GPU": lambda t: t.cuda.current_device(),
    "default type of a GPU": lambda t: t.set_default_tensor_type("torch.cuda.FloatTensor"),
}


def forward(module, write):
    ad = importlib.import_module(f"{module.__name__}.autograd.forward_ad")
    with ad.dual_level():
        x = ad.make_dual(module.full((3,), 0.5), module.ones(3))
        write(x)
        return ad.unpack_dual(x).tangent


def slope_near_zero(t):
    x = t.tensor([0.0, t.finfo(t.double).tiny, 1e-200, 1.0], dtype=t.double, requires_grad=True)
    t.sinc(x).sum().backward()
    return x.grad


def least_squares(t):
    tall, square = t.tensor([[2.0], [1.0]], dtype=t.double), t.eye(3, dtype=t.double) * 2
    found = []
    for driver in ("gelsd", "gelss", "gelsy"):
        for rcond in (None, 0.5, 1.0, *((2.0,) if driver != "gelsy" else ()), -1):
            for a in (tall, square):
                r = t.linalg.lstsq(
                    a, t.ones(a.shape[0], 1, dtype=t.double), rcond=rcond, driver=driver
                )
                found.append(
                    [r.rank.item(), r.solution.round(decimals=6).tolist(), tuple(r.residuals.shape)]
                )
    return found


RANDOM = ("cauchy_", "log_normal_", "normal_", "uniform_", "exponential_", "bernoulli_", "random_")
CALLS |= {
    "tangent of copy_": lambda t: forward(t, lambda x: x.copy_(t.ones(3))),
    "tangents of drawn numbers": lambda t: [
        forward(t, lambda x, n=n: getattr(x, n)()) for n in RANDOM
    ],
    "tangent of geometric_": lambda t: forward(t, lambda x: x.geometric_(0.5)),
    "least squares": least_squares,
    "two ellipses": lambda t: t.einsum("i->......", t.ones(2)),
    "a dot": lambda t: t.einsum("i->.", t.ones(2)),
    "a dot of an operand": lambda t: t.einsum("i.->i", t.ones(2)),
    "two ellipses of an operand": lambda t: t.einsum("...i...->i", t.ones(2)),
    "sinc": slope_near_zero,
    "unique_consecutive of nothing": lambda t: t.unique_consecutive(t.zeros(3, 0), dim=0),
    "fftfreq": lambda t: t.fft.fftfreq(4, out=t.empty(3)),
    "rfftfreq of as many": lambda t: t.fft.rfftfreq(6, out=t.empty(2, 2)),
    "arange": lambda t: t.arange(4, out=t.empty(3)),
    "linspace": lambda t: t.linspace(0, 1, 4, out=t.empty(3)),
    "a mask of bytes": lambda t: t.arange(3).index_put_(
        (t.tensor([1, 0, 1], dtype=t.uint8),), t.tensor([5, 6])
    ),
    "two masks of bytes": lambda t: t.ones(2, 2).index_put_(
        (t.tensor([1, 0], dtype=t.uint8),) * 2, t.ones(1), accumulate=True
    ),
}


def answer(module, call):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            found = repr(call(module))
        except Exception as e:
            found = f"{type(e).__name__}: {e}"
    texts = [str(w.message) for w in given]  # some of PyTorch's are given once in a process
    told = [
        t.partition(" (Triggered")[0]
        for t in texts
        if t.startswith(("The number of elements", "indexing with dtype"))
    ]
    return found, told


@pytest.mark.parametrize("name", CALLS)
def test_the_answer_is_pytorchs(name):
    assert answer(jtorch, CALLS[name]) == answer(torch, CALLS[name])
