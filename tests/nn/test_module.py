"""``nn.Module``: registration, hooks, state dicts, conversion, printing."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
from collections import OrderedDict
from typing import Any

import pytest

import jtorch as torch
from jtorch import nn


class Affine(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("shift", torch.zeros(2))
        self.register_buffer("cache", torch.zeros(1), persistent=False)

    def forward(self, x: Any, extra: Any = 0) -> Any:
        return x * self.scale + self.shift + extra


def tree() -> nn.Sequential:
    return nn.Sequential(OrderedDict(a=Affine(), b=nn.Sequential(nn.ReLU(), Affine())))


# ---- attributes and registration -----------------------------------------------------------------


def test_assignment_registers() -> None:
    m = Affine()
    m.child = nn.ReLU()
    m.buffer = nn.Buffer(torch.ones(3), persistent=False)
    m.plain = torch.ones(1)
    assert list(m._parameters) == ["scale"]
    assert list(m._buffers) == ["shift", "cache", "buffer"]
    assert m._non_persistent_buffers_set == {"cache", "buffer"}
    assert list(m._modules) == ["child"]
    assert "plain" in vars(m)


def test_reassignment_moves_between_tables() -> None:
    m = Affine()
    m.cache = nn.Parameter(torch.ones(1))
    assert "cache" in m._parameters
    assert "cache" not in m._buffers
    assert "cache" not in m._non_persistent_buffers_set
    with pytest.raises(
        TypeError, match=r"as parameter 'cache' \(torch.nn.Parameter or None expected"
    ):
        m.cache = nn.ReLU()
    m.shift = nn.ReLU()
    assert "shift" in m._modules
    assert "shift" not in m._buffers
    del m.cache
    with pytest.raises(AttributeError, match="'Affine' object has no attribute 'cache'"):
        _ = m.cache


def test_none_unregisters_but_stays() -> None:
    m = Affine()
    m.scale = None
    m.register_parameter("bias", None)
    assert m.scale is None
    assert m.bias is None
    assert list(m.parameters()) == []
    assert list(m.state_dict()) == ["shift"]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda m: m.register_parameter("", None), KeyError, "can.*t be empty string"),
        (lambda m: m.register_parameter("a.b", None), KeyError, "can.*t contain"),
        (
            lambda m: m.register_parameter(3, None),
            TypeError,
            "parameter name should be a string. Got int",
        ),
        (
            lambda m: m.register_parameter("forward", None),
            KeyError,
            "attribute 'forward' already exists",
        ),
        (
            lambda m: m.register_parameter("z", torch.zeros(1)),
            TypeError,
            r"object to parameter 'z' \(torch.nn.Parameter or None required",
        ),
        (
            lambda m: m.register_buffer("z", 3),
            TypeError,
            "cannot assign 'int' object to buffer 'z'",
        ),
        (lambda m: m.add_module("z", 3), TypeError, "int is not a Module subclass"),
        (
            lambda m: setattr(m, "scale", torch.ones(2)),
            TypeError,
            r"as parameter 'scale' \(torch.nn.Parameter or None expected",
        ),
        (lambda m: setattr(m, "shift", 3), TypeError, "cannot assign 'int' as buffer 'shift'"),
    ],
)
def test_registration_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(Affine())


def test_parameters_are_leaves() -> None:
    derived = nn.Parameter(torch.ones(1)) * 2
    derived._is_param = True
    with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'z'"):
        Affine().register_parameter("z", derived)


def test_before_init() -> None:
    class Early(nn.Module):
        def __init__(self, value: Any) -> None:
            self.value = value

    with pytest.raises(
        AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call"
    ):
        Early(nn.Parameter(torch.ones(1)))
    with pytest.raises(
        AttributeError, match=r"cannot assign module before Module.__init__\(\) call"
    ):
        Early(nn.ReLU())


def test_init_arguments_go_to_the_next_class_only_if_asked() -> None:
    class Base:
        def __init__(self, value: int) -> None:
            self.value = value

    class Both(nn.Module, Base):
        call_super_init = True

    assert Both(3).value == 3
    with pytest.raises(
        TypeError, match=r"Module.__init__\(\) takes 1 positional argument but 2 were given"
    ):
        nn.Module(3)
    with pytest.raises(
        TypeError, match=r"Module.__init__\(\) got an unexpected keyword argument 'a'"
    ):
        nn.Module(a=3)


# ---- walking -------------------------------------------------------------------------------------


def test_names() -> None:
    m = tree()
    m.again = m.a
    assert [n for n, _ in m.named_modules()] == ["", "a", "b", "b.0", "b.1"]
    assert [n for n, _ in m.named_modules(remove_duplicate=False)] == [
        "",
        "a",
        "b",
        "b.0",
        "b.1",
        "again",
    ]
    assert [n for n, _ in m.named_parameters(prefix="p")] == ["p.a.scale", "p.b.1.scale"]
    assert [n for n, _ in m.named_parameters(remove_duplicate=False)] == [
        "a.scale",
        "b.1.scale",
        "again.scale",
    ]
    assert [n for n, _ in m.a.named_buffers(recurse=False)] == ["shift", "cache"]
    assert [n for n, _ in m.named_children()] == ["a", "b"]
    assert m.get_submodule("b.0") is m.b[0]
    assert m.get_parameter("b.1.scale") is m.b[1].scale
    assert m.get_buffer("a.shift") is m.a.shift
    with pytest.raises(AttributeError, match="Sequential has no attribute `x`"):
        m.get_submodule("b.x")
    m.set_submodule("b.0", nn.Tanh())
    assert isinstance(m.b[0], nn.Tanh)


def test_apply_goes_children_first() -> None:
    seen: list[nn.Module] = []
    m = tree()
    assert m.apply(seen.append) is m
    assert seen == [m.a, m.b[0], m.b[1], m.b, m]


def test_modes() -> None:
    m = tree()
    assert not any(x.training for x in m.eval().modules())
    assert all(x.training for x in m.train().modules())
    with pytest.raises(ValueError, match="training mode is expected to be boolean"):
        m.train(1)
    m.requires_grad_(False)
    assert not any(p.requires_grad for p in m.parameters())


def test_zero_grad() -> None:
    m = Affine()
    m(torch.ones(2)).sum().backward()
    m.zero_grad(set_to_none=False)
    assert m.scale.grad.tolist() == [0, 0]
    m.zero_grad()
    assert m.scale.grad is None


# ---- state dicts ---------------------------------------------------------------------------------


def test_state_dict() -> None:
    m = tree()
    state = m.state_dict()
    assert list(state) == ["a.scale", "a.shift", "b.1.scale", "b.1.shift"]
    assert state._metadata["b.1"] == {"version": 1}
    assert not state["a.scale"].requires_grad
    state["a.scale"].fill_(3.0)
    assert m.a.scale.tolist() == [3, 3]  # the same memory
    assert m.state_dict(keep_vars=True)["a.scale"] is m.a.scale
    assert list(m.a.state_dict(prefix="x.")) == ["x.scale", "x.shift"]


def test_load_copies_or_assigns() -> None:
    source, m = tree(), tree()
    source.a.scale.data.fill_(5.0)
    kept = m.a.scale
    assert repr(m.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
    assert m.a.scale is kept
    assert kept.tolist() == [5, 5]
    m.load_state_dict(source.state_dict(), assign=True)
    assert m.a.scale is not kept
    assert isinstance(m.a.scale, nn.Parameter)


def test_load_errors() -> None:
    state = dict(tree().state_dict(), odd=torch.ones(1))
    del state["a.shift"]
    state["a.scale"] = torch.ones(3)
    with pytest.raises(RuntimeError) as caught:
        tree().load_state_dict(state)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "a.shift". \n\t'
        'Unexpected key(s) in state_dict: "odd". \n\tsize mismatch for a.scale: copying a param '
        "with shape torch.Size([3]) from "
        "checkpoint, the shape in current model is torch.Size([2])."
    )
    state["a.scale"] = torch.ones(2)
    found = tree().load_state_dict(state, strict=False)
    assert found.missing_keys == ["a.shift"]
    assert found.unexpected_keys == ["odd"]
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'int'>"):
        tree().load_state_dict(3)


def test_extra_state() -> None:
    class Extra(nn.Module):
        state: Any = 5

        def get_extra_state(self) -> Any:
            return self.state

        def set_extra_state(self, state: Any) -> None:
            self.state = state

    first, second = Extra(), Extra()
    first.state = 7
    assert first.state_dict() == {"_extra_state": 7}
    second.load_state_dict(first.state_dict())
    assert second.state == 7
    with pytest.raises(RuntimeError, match="Missing key"):
        Extra().load_state_dict({})
    with pytest.raises(RuntimeError, match="Unexpected key"):
        nn.ReLU().load_state_dict({"_extra_state": 1})


def test_state_dict_hooks() -> None:
    m = Affine()
    calls: list[str] = []
    m.register_state_dict_pre_hook(lambda module, prefix, keep_vars: calls.append("pre"))
    m.register_state_dict_post_hook(lambda module, state, prefix, meta: state.update(extra=1))
    m.register_load_state_dict_pre_hook(lambda module, state, *rest: state.pop("extra"))
    m.register_load_state_dict_post_hook(lambda module, keys: calls.append(repr(keys)))
    state = m.state_dict()
    assert state["extra"] == 1
    m.load_state_dict(state)
    assert calls == ["pre", "<All keys matched successfully>"]
    assert "extra" in state  # the given dictionary is not changed
    m.register_state_dict_post_hook(lambda *args: 3)
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        m.state_dict()


# ---- calls and hooks -----------------------------------------------------------------------------


def test_forward_hooks_run_in_order() -> None:
    m = Affine()
    seen: list[Any] = []
    m.register_forward_pre_hook(lambda mod, args: seen.append("second"))
    m.register_forward_pre_hook(
        lambda mod, args, kwargs: (seen.append("first"), (args, {"extra": 10}))[1],
        with_kwargs=True,
        prepend=True,
    )
    m.register_forward_hook(lambda mod, args, out: seen.append(out.tolist()))
    doubled = m.register_forward_hook(
        lambda mod, args, kwargs, out: out * kwargs["extra"], with_kwargs=True
    )
    assert m(torch.ones(2)).tolist() == [110, 110]
    assert seen == ["first", "second", [11, 11]]
    doubled.remove()
    assert m(torch.ones(2)).tolist() == [11, 11]
    assert m._forward_hooks_with_kwargs == {}


def test_pre_hook_must_return_a_pair() -> None:
    m = Affine()
    m.register_forward_pre_hook(lambda mod, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple"):
        m(torch.ones(2))


def test_always_called_hooks() -> None:
    class Fails(nn.Module):
        def forward(self, x: Any) -> Any:
            raise KeyError("no")

    m = Fails()
    seen: list[Any] = []
    m.register_forward_hook(lambda mod, args, out: seen.append(out), always_call=True)
    m.register_forward_hook(lambda mod, args, out: 1 / 0, always_call=True)
    m.register_forward_hook(lambda mod, args, out: seen.append("never"))
    with (
        pytest.raises(KeyError),
        pytest.warns(
            UserWarning, match="silenced as another error was raised in forward: division by zero"
        ),
    ):
        m(1)
    assert seen == [None]


def test_backward_hooks() -> None:
    m = Affine()
    seen: list[Any] = []
    m.register_full_backward_pre_hook(lambda mod, grad_output: (grad_output[0] * 2,))
    m.register_full_backward_hook(
        lambda mod, grad_input, grad_output: seen.append(
            (grad_input[0].tolist(), grad_output[0].tolist())
        )
    )
    m.register_full_backward_hook(lambda mod, grad_input, grad_output: (grad_input[0] * 10,))
    x = torch.ones(2, requires_grad=True)
    m(x).sum().backward()
    assert seen == [([2, 2], [2, 2])]
    assert x.grad.tolist() == [20, 20]
    assert m.scale.grad.tolist() == [2, 2]
    with pytest.raises(
        RuntimeError,
        match="Cannot use both regular backward hooks and full backward hooks on a single Module",
    ):
        m.register_backward_hook(lambda *args: None)


def test_backward_hook_without_input_gradient() -> None:
    m = Affine()
    seen: list[Any] = []
    m.register_full_backward_hook(
        lambda mod, grad_input, grad_output: seen.append((grad_input, grad_output[0].tolist()))
    )
    with pytest.warns(UserWarning, match="Full backward hook is firing"):
        m(torch.ones(2)).sum().backward()
    assert seen == [((None,), [1, 1])]


def test_backward_hook_counts_its_gradients() -> None:
    m = Affine()
    m.register_full_backward_hook(lambda mod, grad_input, grad_output: (1, 2, 3))
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 3, but expected 1"):
        m(torch.ones(2, requires_grad=True)).sum().backward()


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (3, TypeError, "object of type 'int' has no len"),
        ((3,), TypeError, "expected Variable, but hook returned 'int'"),
        ((torch.ones(3),), RuntimeError, "hook 'hook' has changed the size of value"),
        (
            (torch.ones(2, dtype=torch.float64),),
            RuntimeError,
            "hook 'hook' has changed the type of value",
        ),
    ],
)
@pytest.mark.parametrize("before", [False, True])
def test_backward_hooks_give_gradients_that_fit(
    before: bool, given: Any, error: type[Exception], words: str
) -> None:
    m = Affine()
    if before:
        m.register_full_backward_pre_hook(lambda mod, grad_output: given)
    else:
        m.register_full_backward_hook(lambda mod, grad_input, grad_output: given)
    with pytest.raises(error, match=words):
        m(torch.ones(2, requires_grad=True)).sum().backward()


def test_global_hooks() -> None:
    from jtorch.nn.modules import module as registry

    seen: list[Any] = []
    handles = [
        registry.register_module_forward_pre_hook(lambda mod, args: seen.append("before")),
        registry.register_module_forward_hook(lambda mod, args, out: seen.append("after")),
        registry.register_module_parameter_registration_hook(
            lambda mod, name, value: seen.append(name)
        ),
        registry.register_module_module_registration_hook(
            lambda mod, name, value: nn.Tanh() if isinstance(value, nn.ReLU) else None
        ),
    ]
    try:
        nn.Identity()(torch.ones(1))
        Affine()
        assert isinstance(nn.Sequential(nn.ReLU())[0], nn.Tanh)
    finally:
        for handle in handles:
            handle.remove()
    nn.Identity()(torch.ones(1))
    assert seen == ["before", "after", "scale"]
    assert not registry._has_any_global_hook()


def test_own_way_to_call() -> None:
    class Counted(Affine):
        calls = 0

        def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return super()._call_impl(*args, **kwargs)

    m = Counted()
    m(torch.ones(2))
    assert m.calls == 1


def test_missing_init() -> None:
    class Early(nn.Module):
        def __init__(self) -> None:
            pass

        def forward(self) -> int:
            return 3

    with pytest.raises(AttributeError, match="'Early' object has no attribute '_backward_hooks'"):
        Early()()


def test_missing_forward() -> None:
    with pytest.raises(
        NotImplementedError, match=r'Module \[Module\] is missing the required "forward" function'
    ):
        nn.Module()(1)


# ---- conversion, copies, printing ----------------------------------------------------------------


def test_to() -> None:
    m = nn.BatchNorm1d(2)
    weight = m.weight
    m.weight.grad = torch.ones(2)
    assert m.to(torch.float64) is m
    assert m.weight is weight
    assert weight.dtype == torch.float64
    assert weight.grad.dtype == torch.float64
    assert m.running_mean.dtype == torch.float64
    assert m.num_batches_tracked.dtype == torch.int64
    assert m.half().weight.dtype == torch.float16
    assert m.to(torch.ones(1)).weight.dtype == torch.float32
    assert m.to("cpu", torch.bfloat16).weight.dtype == torch.bfloat16
    with pytest.raises(
        TypeError,
        match="only accepts floating point or complex dtypes, but got desired dtype=torch",
    ):
        m.to(torch.int32)
    with pytest.raises(
        TypeError, match=r"to\(\) received an invalid combination of arguments - got \(list\)"
    ):
        m.to([3])


def test_meta() -> None:
    m = nn.Linear(2, 3, device="meta")
    weight = m.weight
    assert weight.is_meta
    with pytest.raises(NotImplementedError, match=r"Please use torch.nn.Module.to_empty\(\)"):
        m.to("cpu")
    m.to_empty(device="cpu")
    assert m.weight is not weight
    assert not m.weight.is_meta
    assert m.weight.shape == (3, 2)


def test_deepcopy_is_independent() -> None:
    m = tree()
    other = copy.deepcopy(m)
    other.a.scale.data.fill_(9.0)
    assert m.a.scale.tolist() == [1, 1]
    assert isinstance(other.a.scale, nn.Parameter)


def test_weak_hooks_let_the_module_go() -> None:
    m = Affine()
    m._register_load_state_dict_pre_hook(lambda module, *args: None, with_module=True)
    hook = next(iter(m._load_state_dict_pre_hooks.values()))
    del m
    gc.collect()
    with pytest.raises(RuntimeError, match="dead Module"):
        hook()


def test_repr() -> None:
    m = nn.Sequential(nn.Linear(1, 2, bias=False), nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()]))
    assert repr(m) == (
        "Sequential(\n"
        "  (0): Linear(in_features=1, out_features=2, bias=False)\n"
        "  (1): ModuleList(\n"
        "    (0-1): 2 x ReLU()\n"
        "    (2): Tanh()\n  )\n)"
    )

    class Two(nn.Module):
        def extra_repr(self) -> str:
            return "a\nb"

    assert repr(Two()) == "Two(\n  a\n  b\n)"


def test_dir_has_registered_names_but_no_digits() -> None:
    names = dir(nn.Sequential(Affine()))
    assert "0" not in names
    assert {"scale", "shift"} <= set(dir(Affine()))


# ---- Parameter and Buffer ------------------------------------------------------------------------


def test_parameter() -> None:
    p = nn.Parameter(torch.ones(2))
    assert type(p + 1) is torch.Tensor
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert not isinstance(torch.ones(1), nn.Parameter)
    assert type(copy.deepcopy(p)) is nn.Parameter
    assert not nn.Parameter(torch.ones(1), requires_grad=False).requires_grad
    assert nn.Parameter().shape == (0,)
    with pytest.raises(
        RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"
    ):
        nn.Parameter(torch.ones(1, dtype=torch.int64))


def test_parameter_of_a_subclass_keeps_its_class() -> None:
    class Sub(torch.Tensor):
        pass

    p = nn.Parameter(torch.ones(2).as_subclass(Sub))
    assert type(p) is Sub
    assert isinstance(p, nn.Parameter)
    assert p.requires_grad
    assert type(p + 1) is Sub
    m = nn.Module()
    m.p = p
    assert list(m._parameters) == ["p"]
    assert type(m.state_dict()["p"]) is Sub


def test_buffer() -> None:
    b = nn.Buffer(torch.ones(2), persistent=False)
    assert isinstance(b, nn.Buffer)
    assert not isinstance(torch.ones(1), nn.Buffer)
    m = nn.Module()
    m.b = b
    m.b = torch.zeros(2)  # still the buffer, still not persistent
    assert list(m.state_dict()) == []


def test_uninitialized_parameter() -> None:
    u = nn.UninitializedParameter()
    assert repr(u) == "<UninitializedParameter>"
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        _ = u.shape
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
        _ = u + 1
    u.materialize((2, 3))
    assert type(u) is nn.Parameter
    assert u.shape == (2, 3)


def test_pickle_keeps_module_attributes() -> None:
    m = nn.ReLU()
    m.note = "x"
    assert pickle.loads(pickle.dumps(m)).note == "x"


def test_old_pickles_without_newer_tables() -> None:
    m = nn.ReLU()
    state = {k: v for k, v in vars(m).items() if k != "_forward_hooks_always_called"}
    again = nn.ReLU.__new__(nn.ReLU)
    again.__setstate__(state)
    assert again(torch.tensor([-1.0, 1.0])).tolist() == [0, 1]


def test_positional_state_dict_arguments_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FutureWarning, match="Positional args are being deprecated"):
            Affine().state_dict(OrderedDict(), "x.")


def test_registries_of_global_hooks_can_be_replaced() -> None:
    """Programs take the hooks away by putting empty registries in the place of those that
    torch.nn.modules.module shows."""
    from collections import OrderedDict

    from jtorch.nn.modules import module as registry

    names = [name for name in vars(registry) if name.startswith("_global_")]
    kept = {name: getattr(registry, name) for name in [*names, "_global_is_full_backward_hook"]}
    seen: list[str] = []
    try:
        for name in names:
            setattr(registry, name, OrderedDict())
        registry.register_module_forward_hook(lambda *_: seen.append("forward"))
        registry.register_module_forward_pre_hook(lambda *_: seen.append("before"))
        registry.register_module_full_backward_hook(lambda *_: seen.append("backward"))
        assert registry._global_is_full_backward_hook is True
        registry.register_module_parameter_registration_hook(lambda *_: seen.append("parameter"))
        assert len(registry._global_forward_hooks) == 1
        layer = torch.nn.Linear(2, 2)
        layer(torch.ones(2, requires_grad=True)).sum().backward()
        assert seen == ["parameter", "parameter", "before", "forward", "backward"]
        seen.clear()
        for name in names:
            setattr(registry, name, OrderedDict())
        registry._global_is_full_backward_hook = None
        layer(torch.ones(2, requires_grad=True)).sum().backward()
        torch.nn.Linear(2, 2)
        assert not seen
        # not after a full one, had the flag stayed
        registry.register_module_backward_hook(lambda *_: None)
    finally:
        for name, value in kept.items():
            setattr(registry, name, value)


def test_loading_a_state_leaves_nothing_to_the_garbage_collector() -> None:
    layer = nn.Sequential(nn.Linear(2, 2))
    state = layer.state_dict()
    layer.load_state_dict(state)
    gc.collect()
    layer.load_state_dict(state)
    assert gc.collect() == 0


def test_functions_as_attributes_of_classes_are_not_bound() -> None:
    class Net(nn.Module):
        act, conv, made = torch.relu, nn.functional.conv1d, torch.full
        shared = nn.functional.softmax  # written in Python there too: a method of this class

        def forward(self, x: Any) -> Any:
            return self.conv(self.act(x), self.made((1, 1, 2), 2.0))

    class Other(Net):
        act = torch.neg

    x = torch.tensor([[-1.0, 2.0, 3.0]])
    assert Net()(x).tolist() == [[4.0, 10.0]] and Other()(x).tolist() == [[-2.0, -10.0]]
    assert Net.act is torch.relu and Net().shared.__self__.__class__ is Net


def test_parameters_become_sparse_ones() -> None:
    layer = nn.Linear(2, 3, bias=False)
    before = layer.weight
    before.grad = torch.ones(3, 2)
    layer._apply(lambda t: t.to_sparse())
    assert (
        layer.weight is not before
        and layer.weight.layout is layer.weight.grad.layout is torch.sparse_coo
    )
    assert before.layout is torch.strided and not torch._has_compatible_shallow_copy_type(
        before, torch.ones(3, 2, device="meta")
    )


@pytest.mark.parametrize("assign", [False, True])
def test_values_that_are_swapped_in_leave_the_parameters_the_objects_they_are(assign):
    class Own(torch.Tensor):
        pass

    class Broken(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return (
                args[1]
                if func is torch.Tensor.module_load
                else super().__torch_function__(func, types, args, kwargs or {})
            )

    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        source, module = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
        nn.init.constant_(source.weight, 3.0)
        source.running_mean.fill_(2.0)
        before = module.state_dict(keep_vars=True)
        optimizer = torch.optim.SGD(module.parameters(), 1.0)
        state = source.state_dict()
        module.load_state_dict(state, assign=assign)
        after = module.state_dict(keep_vars=True)
        assert all(
            after[name] is before[name] for name in before
        ) and module.running_mean.tolist() == [2.0, 2.0]
        assert (module.weight.data_ptr() == source.weight.data_ptr()) is assign
        module(torch.arange(6.0).reshape(3, 2)).pow(2).sum().backward()
        optimizer.step()
        assert module.weight.tolist() != [3.0, 3.0] and isinstance(module.weight, nn.Parameter)
        kinds = nn.Linear(2, 1, bias=False)
        kinds.load_state_dict({"weight": torch.ones(1, 2).as_subclass(Own)}, assign=assign)
        assert type(kinds.weight) is Own and kinds.weight.requires_grad
        assert kinds.weight.tolist() == [[1.0, 1.0]]
        with pytest.raises(RuntimeError, match="module_load returned one of self or other"):
            kinds.load_state_dict({"weight": torch.ones(1, 2).as_subclass(Broken)}, assign=assign)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


def test_a_parameter_becomes_the_wrapper_that_a_conversion_makes() -> None:
    from jtorch.testing._internal.two_tensor import TwoTensor

    module = nn.Linear(2, 2)
    module.buf = nn.Buffer(torch.ones(2))
    before = module.weight
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        module._apply(lambda t: TwoTensor(t, t))
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    assert module.weight is before and type(before) is type(module.buf) is TwoTensor
    assert type(before.a) is torch.Tensor and isinstance(before, nn.Parameter)
    assert type(before.detach()) is TwoTensor
    assert before.detach().a.tolist() == before.b.tolist()
