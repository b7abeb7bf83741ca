"""``view`` as another dtype: what sizes, offsets and strides allow, and that it leads nowhere."""

import pytest
import torch

import jtorch

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("dtype", ["int64", "int16", "int32", "float64", "bfloat16"])
@pytest.mark.parametrize(
    "geometry",
    [
        ((4, 4, 2), (2, 1, 1), 0),
        ((4, 4, 2), (2, 2, 1), 1),
        ((1, 4, 2), (3, 2, 1), 0),
        ((2, 1, 2), (2, 3, 1), 2),
        ((2, 2), (1, 2), 0),
        ((2, 3), (4, 1), 0),
        ((2, 4), (4, 1), 2),
        ((), (), 1),
    ],
)
def test_geometry(geometry, dtype):
    def run(t):
        x = t.arange(64, dtype=t.int32).as_strided(*geometry)
        try:
            v = x.view(getattr(t, dtype))
        except RuntimeError as error:
            return str(error)
        return (
            tuple(v.shape),
            v.stride(),
            v.storage_offset(),
            v.view(t.uint8).tolist() if v.dim() and v.stride(-1) == 1 else None,
        )

    assert run(jtorch) == run(torch)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "float32", "complex64"])
def test_no_gradients(dtype):
    def run(t):
        v = t.ones(2, 2, requires_grad=True).view(getattr(t, dtype))
        return v.requires_grad, v.grad_fn is None

    assert run(jtorch) == run(torch)


PAIRS = [
    ("complex64", "float64"),
    ("int64", "complex64"),
    ("complex64", "int64"),
    ("float64", "complex64"),
]


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_complex_numbers_without_dimensions(old, new):
    def seen(library):
        made = library.ones((), dtype=getattr(library, old)).view(getattr(library, new))
        return (
            tuple(made.shape),
            made.stride(),
            made.is_contiguous(),
            made.view(getattr(library, old)).item(),
        )

    assert seen(jtorch) == seen(torch)
