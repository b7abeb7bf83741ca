"""Device objects: construction, texts, contexts and the jax devices behind them."""

from __future__ import annotations

import copy
import pickle
import threading

import jax
import pytest

from jtorch import dispatch
from jtorch._src.facts import devices
from jtorch._src.facts.devices import device
from jtorch._src.protocol.overridable import specialise


@pytest.fixture
def zeros(monkeypatch):
    """A factory that returns the device it was told."""
    made = specialise(
        lambda *size, device=None: device, "torch.zeros_for_test", overridable=False, enter=False
    )
    devices.FACTORIES.add(made)
    yield made
    devices.FACTORIES.discard(made)
    assert dispatch.mode_stack() == []


@pytest.mark.parametrize(
    ("args", "kwargs", "text", "shown"),
    [
        (("cpu",), {}, "cpu", "device(type='cpu')"),
        (("cuda:0",), {}, "cuda:0", "device(type='cuda', index=0)"),
        (("cuda", 1), {}, "cuda:1", "device(type='cuda', index=1)"),
        ((), {"type": "cuda", "index": 1}, "cuda:1", "device(type='cuda', index=1)"),
        (("cuda",), {"index": 2}, "cuda:2", "device(type='cuda', index=2)"),
        ((), {"device": "cuda:1"}, "cuda:1", "device(type='cuda', index=1)"),
        (("meta",), {}, "meta", "device(type='meta')"),
        (("xpu:2",), {}, "xpu:2", "device(type='xpu', index=2)"),
        (("tpu",), {}, "tpu", "device(type='tpu')"),
    ],
)
def test_construction(args, kwargs, text, shown):
    d = device(*args, **kwargs)
    assert (
        str(d) == text
        and repr(d) == shown
        and device(text) == d
        and hash(device(text)) == hash(d)
        and device(d) is d
    )
    assert (
        pickle.loads(pickle.dumps(d)) == d
        and copy.deepcopy(d) == d == copy.copy(d)
        and isinstance(d, device)
    )


@pytest.mark.parametrize(
    ("args", "kind", "message"),
    [
        (
            ("foo",),
            RuntimeError,
            (
                r"^Expected one of cpu, cuda, ipu, .* privateuseone device type at start of device "
                r"string: foo$"
            ),
        ),
        (("CPU",), RuntimeError, "at start of device string: CPU$"),
        (("cpu:x",), RuntimeError, "^Invalid device string: 'cpu:x'$"),
        (("cuda:-1",), RuntimeError, "^Invalid device string: 'cuda:-1'$"),
        (("cuda:01",), RuntimeError, "^Invalid device string: 'cuda:01'$"),
        (("cuda:",), RuntimeError, "^Invalid device string: 'cuda:'$"),
        (("cuda:1:2",), RuntimeError, "^Invalid device string: 'cuda:1:2'$"),
        (("",), RuntimeError, "^Device string must not be empty$"),
        (("cuda", -1), RuntimeError, "^Device index must not be negative$"),
        ((-1,), RuntimeError, "^Device index must not be negative$"),
        (
            ("cuda:0", 1),
            RuntimeError,
            (
                r"^type \(string\) must not include an index because index was passed explicitly: "
                r"cuda:0$"
            ),
        ),
        (
            (None,),
            TypeError,
            r"^device\(\) received an invalid combination of arguments - got \(NoneType\)",
        ),
        ((1.5,), TypeError, r"got \(float\)"),
        ((), TypeError, r"got \(\)"),
        (("cpu", "0"), TypeError, r"argument 'index' \(position 2\) must be int, not str"),
        (("cuda:99999999999",), RuntimeError, "Could not parse device index '99999999999'"),
    ],
)
def test_wrong_construction(args, kind, message):
    with pytest.raises(kind, match=message):
        device(*args)


def test_devices_are_values():
    assert (
        device("cuda:0") != device("cuda")
        and device("cpu") != "cpu"
        and len({device("cpu"), device("cpu"), device("meta")}) == 2
    )
    assert device("cpu").index is None and device("cpu:0").index == 0
    with pytest.raises(
        AttributeError, match=r"attribute 'type' of 'torch.device' objects is not writable"
    ):
        device("cpu").type = "cuda"
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Mine", (device,), {})


def test_placement():

    cpu = jax.devices("cpu")[0]
    assert (
        devices.placement() is cpu is devices.placement("cpu") is devices.placement(device("cpu:0"))
    )
    assert devices.placement("meta") == "meta" and devices.of_placement("meta") == device("meta")
    assert devices.of_placement(cpu) == device("cpu")
    mesh = jax.sharding.Mesh([cpu], ("x",))
    assert devices.of_placement(
        jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    ) == device("cpu")


def test_absent_devices_say_what_is_there():
    with pytest.raises(
        RuntimeError, match=r"device 'hpu' is not available: JAX found no other than .*cpu \("
    ):
        devices.placement("hpu")
    with pytest.raises(RuntimeError, match="invalid device ordinal: 'cpu:4000'"):
        devices.placement("cpu:4000")
    with pytest.raises(
        TypeError, match=r"zeros\(\): argument 'device' must be torch\.device, not float"
    ):
        devices.as_device(1.5, "zeros")


def test_context_gives_its_device_to_factories(zeros):
    with device("meta") as d:
        assert (
            d is device("meta")
            and zeros(2) is d
            and zeros(2, device="cpu") == "cpu"
            and zeros(2, device=None) is d
        )
        with device("cpu"):
            assert zeros(2) == device("cpu") == devices.get_default_device()
        with d:
            assert len(dispatch.mode_stack()) == 2
        assert zeros() is d and devices.get_default_device() is d
        assert all(isinstance(m, dispatch.TorchFunctionMode) for m in dispatch.mode_stack())
    assert zeros(2) is None and devices.get_default_device() == device("cpu")
    with pytest.raises(RuntimeError, match="has not entered it"):
        d.__exit__(None, None, None)


def test_modes_around_and_inside_a_context(zeros):
    seen = []

    class Log(dispatch.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(kwargs)
            return func(*args, **(kwargs or {}))

    meta = device("meta")
    with Log(), meta, Log():
        zeros(2)
    assert seen == [None, {"device": device("meta")}]
    seen.clear()
    with Log():
        device("cpu")
    assert seen == [None]


def test_default_device(zeros):
    try:
        devices.set_default_device("meta")
        assert zeros(2) == device("meta") == devices.get_default_device()
        with device("cpu"):
            assert zeros(2) == device("cpu")
            devices.set_default_device("meta")  # still the outermost
            assert zeros(2) == device("cpu")
        devices.set_default_device("cpu")
        assert zeros(2) == device("cpu") and len(dispatch.mode_stack()) == 1
        elsewhere = []
        thread = threading.Thread(target=lambda: elsewhere.append(zeros(2)))
        thread.start()
        thread.join()
        assert elsewhere == [None]
    finally:
        devices.set_default_device(None)
    assert zeros(2) is None


def test_decorator(zeros):
    @device("meta")
    def f():
        return zeros(1)

    @device("meta")
    def g():
        sent = yield zeros(1)
        try:
            yield sent
        except KeyError:
            yield zeros(1)
        return 5

    assert f() == device("meta") and f.__name__ == "f"
    gen = g()
    assert next(gen) == device("meta") and zeros(1) is None
    assert gen.send(3) == 3 and gen.throw(KeyError()) == device("meta")
    with pytest.raises(StopIteration) as e:
        next(gen)
    assert e.value.value == 5
    with pytest.raises(RuntimeError, match="Cannot decorate classes"):
        device("meta")(type("C", (), {}))


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("cuda", AssertionError, "Torch not compiled with CUDA enabled"),
        ("cuda:3", AssertionError, "Torch not compiled with CUDA enabled"),
        ("xpu", AssertionError, "Torch not compiled with XPU enabled"),
        ("mps", RuntimeError, "PyTorch is not linked with support for mps devices"),
        ("xla", RuntimeError, "PyTorch is not linked with support for xla devices"),
    ],
)
def test_absent_devices_raise_what_pytorch_raises(kind, error, words, monkeypatch):
    monkeypatch.setattr(
        devices, "jax_devices", lambda kind: (jax.devices("cpu")[0],) if kind == "cpu" else ()
    )
    with pytest.raises(error) as raised:
        devices.placement(kind)
    assert (
        str(raised.value) == words
        and "JAX found no other than cpu (1)" in raised.value.__notes__[0]
    )


def test_xla_does_not_mean_the_default_device():
    if jax.default_backend() in ("cpu", "gpu", "tpu"):
        assert devices.jax_devices("xla") == ()
