"""Tensors from Python and NumPy data: dtypes, sharing, and torch's words for what it cannot
take."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jtorch as torch


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1, torch.int64, ()),
        (1.5, torch.float32, ()),
        (True, torch.bool, ()),
        (2j, torch.complex64, ()),
        ([True, 2], torch.int64, (2,)),
        ([1, 2.0], torch.float32, (2,)),
        ([1, 2j], torch.complex64, (2,)),
        ([], torch.float32, (0,)),
        ([[], []], torch.float32, (2, 0)),
        (((1, 2), [3, 4]), torch.int64, (2, 2)),
        (range(3), torch.int64, (3,)),
        (np.float32(1), torch.float32, ()),
        (np.float64(1), torch.float64, ()),
        ([np.float64(1)], torch.float64, (1,)),
        ([np.int16(1), 2], torch.int64, (2,)),
        (np.zeros(2, np.uint16), torch.uint16, (2,)),
        (bytearray(b"ab"), torch.int64, (2,)),
    ],
)
def test_dtype_and_shape(data, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    found = torch.tensor(data)
    assert found.dtype is dtype
    assert found.shape == shape


def test_tensors_inside_lists() -> None:
    found = torch.tensor([torch.tensor(1), torch.tensor(2.5)])
    assert found.tolist() == [1.0, 2.5]
    with pytest.raises(
        ValueError, match="only one element tensors can be converted to Python scalars"
    ):
        torch.tensor([torch.ones(2), torch.ones(2)])


def test_values_survive() -> None:
    data = [[[1, -2], [3, 2**62]], [[5, 6], [7, 8]]]
    assert torch.tensor(data).tolist() == data
    assert torch.tensor([0.5, 0], dtype=torch.bool).tolist() == [True, False]
    assert torch.tensor([1.9], dtype=int).tolist() == [1]
    assert torch.tensor([-1], dtype=torch.uint8).tolist() == [255]
    assert torch.tensor(2**63, dtype=torch.uint64).tolist() == 2**63
    assert torch.tensor(1e40).tolist() == float("inf")


@pytest.mark.parametrize(
    ("data", "options", "error", "words"),
    [
        ([[1, 2], [1]], {}, ValueError, "expected sequence of length 2 at dim 1 (got 1)"),
        ([[[1, 2]], [[3]]], {}, ValueError, "expected sequence of length 2 at dim 2 (got 1)"),
        ([[1, 2], 3], {}, TypeError, "not a sequence"),
        ([1, [2]], {}, TypeError, "'list' object cannot be interpreted as an integer"),
        (None, {}, RuntimeError, "Could not infer dtype of NoneType"),
        ({}, {}, RuntimeError, "Could not infer dtype of dict"),
        ("a", {}, TypeError, "new(): invalid data type 'str'"),
        (2**64, {}, ValueError, "Overflow when unpacking long long"),
        (
            [300],
            {"dtype": torch.uint8},
            RuntimeError,
            "value cannot be converted to type uint8 without overflow",
        ),
        (
            float("nan"),
            {"dtype": torch.int64},
            RuntimeError,
            "value cannot be converted to type int64 without overflow",
        ),
        ([1j], {"dtype": torch.float32}, TypeError, "must be real number, not complex"),
        (
            [1],
            {"dtype": "float"},
            TypeError,
            "tensor(): argument 'dtype' must be torch.dtype, not str",
        ),
        (
            [1],
            {"requires_grad": True},
            RuntimeError,
            "Only Tensors of floating point and complex dtype can require gradients",
        ),
        (
            np.arange(3)[::-1],
            {},
            ValueError,
            "At least one stride in the given numpy array is negative",
        ),
        (np.zeros(2, ">f4"), {}, ValueError, "byte order different from the native byte order"),
        (np.array(["a"]), {}, TypeError, "The only supported types are: float64, float32"),
    ],
)
def test_refuses(data, options: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        torch.tensor(data, **options)
    assert words in str(caught.value)


def test_copying_a_tensor_warns_and_cuts_history() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        y = torch.tensor(x)
    assert not y.requires_grad
    y.fill_(5)
    assert x.tolist() == [1.0, 1.0]


def test_tensor_copies_and_from_numpy_shares() -> None:
    array = np.zeros(3, np.float32)
    copied, shared = torch.tensor(array), torch.from_numpy(array)
    array[0] = 1
    assert copied.tolist() == [0.0, 0.0, 0.0]
    assert shared.tolist() == [1.0, 0.0, 0.0]
    shared[1] = 2
    assert array.tolist() == [1.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1], "expected np.ndarray (got list)"),
        (np.float32(1), "expected np.ndarray (got numpy.float32)"),
    ],
)
def test_from_numpy_wants_an_array(value, words: str) -> None:
    with pytest.raises(TypeError) as caught:
        torch.from_numpy(value)
    assert str(caught.value) == words


def test_as_tensor_shares_where_it_can() -> None:
    x = torch.ones(2)
    assert torch.as_tensor(x) is x
    assert torch.as_tensor(x, dtype=torch.float64).dtype is torch.float64
    array = np.zeros(2)
    torch.as_tensor(array)[0] = 3
    assert array[0] == 3
    torch.as_tensor(array, dtype=torch.float32)[1] = 3
    assert array[1] == 0
    assert torch.as_tensor([1, 2]).dtype is torch.int64


def test_asarray() -> None:
    x = torch.ones(2)
    assert torch.asarray(x) is x
    assert torch.asarray(x, copy=True) is not x
    with pytest.raises(ValueError, match="can't alias arbitrary sequence into a tensor"):
        torch.asarray([1.0], copy=False)
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'Float' into dtype 'Long'"):
        torch.asarray(x, dtype=torch.int64, copy=False)


def test_frombuffer() -> None:
    memory = bytearray(b"abcd")
    found = torch.frombuffer(memory, dtype=torch.uint8, count=2, offset=1)
    assert found.tolist() == [98, 99]
    found[0] = 122
    assert memory == bytearray(b"azcd")
    with pytest.raises(ValueError, match="must be a multiple of element size"):
        torch.frombuffer(memory, dtype=torch.int32, offset=1)
    with pytest.raises(ValueError, match="object does not implement Python buffer protocol"):
        torch.frombuffer([1], dtype=torch.uint8)


def test_default_dtype_is_followed() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.tensor(1.5).dtype is torch.float64
        assert torch.tensor([1.5]).dtype is torch.float64
        assert torch.arange(1.5).dtype is torch.float64
        assert torch.tensor(1j).dtype is torch.complex128
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.tensor(1.5).dtype is torch.float32


def test_no_warning_without_reason() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.tensor([1, 2]).tolist() == [1, 2]
        assert torch.from_numpy(np.zeros(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("data", "dtype", "error", "words"),
    [
        (["a"], None, ValueError, "too many dimensions 'str'"),
        ([1, "a"], torch.int32, TypeError, "'str' object cannot be interpreted as an integer"),
        ([1, None], torch.float32, TypeError, "must be real number, not NoneType"),
    ],
)
def test_leaves_that_are_no_numbers(
    data: list[object], dtype: torch.dtype | None, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        torch.tensor(data, dtype=dtype)


class Column:
    """A sequence that gives numbers of one kind to an index and of another to a loop, by labels, as
    a column of a table does."""

    def __init__(self, labels: Any) -> None:
        self.labels = list(labels)

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Any:
        return iter([1.5] * len(self.labels))

    def __getitem__(self, label: Any) -> Any:
        return {known: np.float64(1.5) for known in self.labels}[label]


def test_items_of_foreign_sequences_are_read_by_index() -> None:
    for make in (torch.tensor, torch.as_tensor, torch.asarray):
        assert make(Column([0, 1])).dtype == torch.float64 and make(Column([0, 1])).tolist() == [
            1.5,
            1.5,
        ]
    assert torch.tensor([Column([0]), Column([0])]).dtype == torch.float64
    assert torch.tensor(Column([0, 1]), dtype=torch.float32).dtype == torch.float32
    turned = Column([1, 0])
    turned.__class__ = type("Turned", (Column,), {"__iter__": lambda self: iter([1.0, 2.0])})
    assert (
        torch.tensor(turned).tolist() == [1.0, 2.0] and torch.tensor(turned).dtype == torch.float64
    )
    with pytest.raises(ValueError, match="could not determine the shape of object type 'Column'"):
        torch.tensor(Column([5, 6]))


# ---- the old constructors ------------------------------------------------------------------------


def test_old_constructors_take_names():
    x = torch.tensor([1, 2])
    assert torch.Tensor(size=(3, 4)).shape == (3, 4) and x.new(size=[2]).dtype is torch.int64
    assert torch.FloatTensor(data=[1, 2]).tolist() == [1.0, 2.0] and x.new(data=[2.5]).tolist() == [
        2
    ]
    assert torch.LongTensor(other=x).data_ptr() == x.data_ptr() and torch.LongTensor(
        storage=x.storage()
    ).tolist() == [1, 2]
    assert torch.FloatTensor(np.int64(2)).shape == (2,)


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: torch.Tensor(foo=1), TypeError,
     r"new\(\) received an invalid combination of arguments - got \(foo=int, \)"),
    (lambda: torch.Tensor([1], dtype=torch.int64), TypeError,
     "some of the keywords were incorrect: dtype"),
    (lambda: torch.Tensor(1, size=(1,)), TypeError, "invalid combination"),
    (lambda: torch.Tensor(2.5), TypeError, r"data must be a sequence \(got float\)"),
    (lambda: torch.Tensor(True), TypeError, r"data must be a sequence \(got bool\)"),
    (lambda: torch.Tensor("ab"), TypeError, "invalid data type 'str'"),
    (lambda: torch.Tensor(1, 2.5), TypeError, "failed to unpack the object at pos 2"),
    (lambda: torch.Tensor(-1), RuntimeError, "negative dimension -1"),
    (lambda: torch.Tensor(1, device="meta"), RuntimeError,
     "expects device type: cpu but device type: meta was passed"),
    (lambda: torch.FloatTensor(torch.tensor([1])), TypeError,
     r"expected TensorOptions\(dtype=float.*got TensorOptions\(dtype=long int"),
    (lambda: torch.ones(1).new(torch.tensor([1]).storage()), RuntimeError,
     "Expected a Storage of type Float"),
    (lambda: torch.randn(2, pin_memory=True), RuntimeError,
     "pin_memory=True requires a CUDA or other accelerator"),
    (lambda: torch.tensor(2, pin_memory=True), RuntimeError, "pin_memory=True requires"),
    (lambda: torch.ones(2).pin_memory(), RuntimeError,
     "Cannot access accelerator device when none is available"),
])  # fmt: skip
def test_what_old_constructors_and_factories_refuse(call: Any, error: type[Exception], words: str):
    with pytest.raises(error, match=words):
        call()


def test_types_of_tensors_have_no_subclasses():
    with pytest.raises(
        TypeError, match=r"type 'torch\.FloatTensor' is not an acceptable base type"
    ):
        type(torch.FloatTensor)("Mine", (torch.FloatTensor,), {})


def test_ranges_that_do_not_fit_say_so():
    with pytest.warns(
        UserWarning, match="out tensor will be resized to a tensor of shape \\(3,\\)"
    ):
        assert torch.arange(3, out=torch.empty(1, 4)).tolist() == [0.0, 1.0, 2.0]
    assert torch.zeros(3, out=torch.empty(4)).shape == (3,)  # whoever gives a size knows it


# ---- memory of others ----------------------------------------------------------------------------


def test_memory_is_shared_through_capsules():
    x = torch.arange(4.0)
    y = torch.from_dlpack(torch.to_dlpack(x[1:]))
    y[0] = 7
    assert x.tolist() == [0, 7, 2, 3]
    x[3] = 9
    assert y.tolist() == [7, 2, 9] and np.from_dlpack(x).tolist() == [0, 7, 2, 9]
    capsule = torch.to_dlpack(x)
    assert torch.asarray(capsule, copy=False).tolist() == x.tolist()
    with pytest.raises(RuntimeError, match="capsules can be consumed only once"):
        torch.from_dlpack(capsule)


def test_numbers_of_numpy_that_python_does_not_know():
    with pytest.warns(np.exceptions.ComplexWarning):
        assert (torch.tensor([1 + 3j]) + np.complex64(1 + 3j)).tolist() == [2 + 3j]
    assert (torch.tensor([1 + 3j]) + np.complex128(1 + 3j)).tolist() == [2 + 6j]
    assert (torch.ones(1) + np.longdouble(1.5)).tolist() == [2.5]
    assert (torch.tensor([3]) + np.True_).dtype is torch.float32


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: torch.ones(1).apply_(lambda _: None), TypeError, "must be real number, not NoneType"),
    (lambda: torch.tensor([1]).apply_(lambda _: "a"), TypeError,
     "'str' object cannot be interpreted as an integer"),
    (lambda: torch.ones(1, dtype=torch.uint8).apply_(lambda _: 300), RuntimeError,
     "without overflow"),
    (lambda: torch.ones(2).map_(torch.ones(3), max), RuntimeError, "expanded size"),
    (lambda: torch.ones(1).map_(torch.tensor([1]), max), TypeError,
     "expected torch.FloatTensor for 'other'"),
])  # fmt: skip
def test_what_functions_of_elements_may_give(call: Any, error: type[Exception], words: str):
    with pytest.raises(error, match=words):
        call()


def test_functions_of_elements_wrap_around_and_take_expanded_tensors():
    assert torch.ones(1, dtype=torch.uint8).apply_(lambda _: -1).tolist() == [255]
    assert torch.ones(1).expand(2).apply_(lambda x: x + 1).tolist() == [2.0, 2.0]


# given once: to whichever test comes first
@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
@pytest.mark.parametrize("given", [torch.float32, 3, torch.IntTensor])
def test_default_types_are_types_of_floats(given: Any):
    with pytest.raises(TypeError):
        torch.set_default_tensor_type(given)


def test_generators_and_products_of_what_there_is_not():
    with pytest.raises(RuntimeError, match="OPENGL device type not an accelerator"):
        torch.Generator("opengl")
    refused = pytest.raises(RuntimeError, match="Tensor dimension is 1, expected 2")
    with pytest.warns(UserWarning, match="chain_matmul is deprecated"), refused:
        torch.chain_matmul(torch.ones(1), torch.ones(1))


def test_limits_of_pythons_numbers() -> None:
    assert torch.finfo(float) == torch.finfo(torch.float64) == torch.finfo(complex)
    assert torch.iinfo(int) == torch.iinfo(torch.int64)
    for wrong in (
        lambda: torch.finfo(int),
        lambda: torch.iinfo(float),
        lambda: torch.iinfo(bool),
        lambda: torch.finfo("float"),
    ):
        with pytest.raises(TypeError):
            wrong()
