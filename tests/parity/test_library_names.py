"""What libraries reach for outside of the documented functions does here what it does in
PyTorch."""

from __future__ import annotations

import contextlib
import importlib
import operator
import os
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch as reference

import jtorch

pytestmark = pytest.mark.parity


class Library:
    """PyTorch or jtorch: the root module, and its submodules by name."""

    def __init__(self, root: ModuleType) -> None:
        self.root = root

    def __call__(self, name: str) -> Any:
        return importlib.import_module(f"{self.root.__name__}.{name}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.root, name)


def plain(x: Any) -> Any:
    """Tensors as arrays, errors as their type and words, so that both libraries' answers can be
    compared."""
    if isinstance(x, (reference.Tensor, jtorch.Tensor)):
        return str(x.dtype)[6:], x.detach().numpy().tolist()
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return x


def told(call: Callable[[], Any]) -> Any:
    """The answer of a call, or its error."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)


CASES: list[Callable[[Any], Any]] = []


def case(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    CASES.append(function)
    return function


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", CASES, ids=lambda f: f.__name__)
def test_same(program: Callable[[Any], Any]) -> None:
    ours, theirs = plain(program(Library(jtorch))), plain(program(Library(reference)))
    _compare(ours, theirs)


def _compare(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, (list, tuple)):
        assert isinstance(ours, (list, tuple)) and len(ours) == len(theirs), (ours, theirs)
        for a, b in zip(ours, theirs, strict=True):
            _compare(a, b)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for k in theirs:
            _compare(ours[k], theirs[k])
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    else:
        assert ours == theirs


@case
def checks(t: Any) -> Any:
    conditions = [True, False, 1, t.tensor(True)]
    found = [
        told(lambda c=c, f=f: f(c))
        for f in (t._check, t._check_index, t._check_value, t._check_type)
        for c in conditions
    ]
    found += [
        told(lambda m=m: t._check_not_implemented(False, m))
        for m in (None, "text", lambda: 5, lambda: "no {}")
    ]
    found += [told(lambda i=i: t._check_is_size(i)) for i in (-1, 0, 3)]
    tensors = [t.tensor([True, False]), t.tensor([True]), True, t.tensor([1])]
    found += [told(lambda c=c: t._check_tensor_all(c)) for c in tensors]
    return [
        *found,
        told(lambda: t._check_with(KeyError, False, lambda: "k")),
        told(lambda: t._check_with(5, False, lambda: "k")),
    ]


@case
def low_level_functions(t: Any) -> Any:
    rows = t.tensor([0, 0, 2])
    g, y = t.tensor([[1.0, 2.0, 3.0]]), t.tensor([[0.2, 0.3, 0.5]])
    bytes_ = t.arange(-6, 6, dtype=t.int8).reshape(3, 4)
    return [
        t._shape_as_tensor(t.ones(2, 3)), t._shape_as_tensor(t.ones(())),
        t._convert_indices_from_coo_to_csr(rows, 4),
        t._convert_indices_from_coo_to_csr(rows, 3, out_int32=True),
        t._convert_indices_from_csr_to_coo(t.tensor([0, 2, 3]), t.tensor([1, 0, 2])),
        t._convert_indices_from_csr_to_coo(t.tensor([0, 2, 3]), t.tensor([1, 0, 2]), transpose=True,
                                           out_int32=True),
        t._softmax_backward_data(g, y, 1, t.float32),
        t._log_softmax_backward_data(g, y.log(), 1, t.float32),
        t._int_mm(bytes_, bytes_.t().contiguous()),
        told(lambda: t._int_mm(rows.reshape(1, 3), rows.reshape(3, 1))),
        *[told(lambda v=v: t._assert_async(t.tensor(v))) for v in (True, False, [True, True], [])],
        told(lambda: t._assert_async(t.tensor(0), "words")),
        t._unique(rows), t._unique(rows, return_inverse=True), t._unique2(rows, return_counts=True),
        t._VF.unique_dim(rows, 0),
    ]  # fmt: skip


@case
def questions(t: Any) -> Any:
    x = t.ones(3)
    c, utils = t._C, t("_utils")
    found = [
        c._are_functorch_transforms_active(),
        c._is_tracing(),
        c._get_default_device(),
        c._get_privateuse1_backend_name(),
    ]
    found += [
        c._is_alias_of(x, x[1:]),
        c._is_alias_of(x, x + 1),
        c._is_torch_function_mode_enabled(),
        str(c._get_accelerator()),
    ]
    found += [
        c._functorch.is_batchedtensor(x),
        c._jit_set_profiling_mode(True),
        type(t.Tensor) is c._TensorMeta,
    ]
    found += [told(lambda d=d: utils._get_device_index(d)) for d in ("cuda:1", "cpu", 2)] + [
        utils._get_device_index(None, optional=True)
    ]
    found += [
        utils._get_device_index("cpu", allow_cpu=True),
        {k: int(v) for k, v in sorted(c.DispatchKey.__members__.items())},
    ]
    return [
        *found,
        t("_prims_common").make_contiguous_strides_for((2, 3, 4)),
        str(t.Stream()),
        str(t.Event()),
        t.Stream() == t.Stream(),
    ]


@case
def futures(t: Any) -> Any:
    futures = t("futures")
    first, second, failed = futures.Future(), futures.Future(), futures.Future()
    seen: list[int] = []
    first.add_done_callback(lambda f: seen.append(f.wait()))
    after = first.then(lambda f: f.wait() + 1)
    both = futures.collect_all([first, second])
    found = [first.done(), both.done()]
    first.set_result(5)
    found += [after.wait(), both.done(), list(seen)]
    second.set_result(6)
    failed.set_exception(ValueError("no"))
    found += [
        [f.wait() for f in both.wait()],
        futures.wait_all([first, second]),
        told(failed.wait),
        told(lambda: first.set_result(1)),
    ]
    found += [told(lambda: failed.set_exception(5)), failed.then(lambda f: 3).wait()]
    found += [told(lambda: futures.collect_all([first, failed]).wait())]
    return [
        *found,
        told(lambda: failed.then(lambda f: f.wait()).wait())[1].split("\n")[0],
        told(lambda: futures.Future(devices=["cpu"])),
    ]


@case
def weak_dictionaries(t: Any) -> Any:
    weak = t("utils.weak")
    a, b = t.ones(2), t.ones(2)
    d = weak.WeakTensorKeyDictionary()
    d[a], d[b] = 1, 2
    other = d.copy()
    found = [
        d[a],
        d[b],
        len(d),
        a in d,
        t.ones(2) in d,
        sorted(d.values()),
        d == other,
        d.setdefault(a, 9),
        d.get(t.zeros(1), 7),
    ]
    del b
    found += [
        len(d),
        d.pop(a),
        len(d),
        len(other),
        weak.WeakIdRef(a) == weak.WeakIdRef(a),
        weak.TensorWeakRef(a)() is a,
    ]
    return [*found, told(lambda: d[a])[0], 5 in d]


@case
def contexts_as_decorators(t: Any) -> Any:
    log: list[str] = []

    class noting(t("utils._contextlib")._DecoratorContextManager):
        def __enter__(self) -> None:
            log.append("in")

        def __exit__(self, *exc: object) -> None:
            log.append("out")

    @noting()
    def numbers() -> Any:
        got = yield 1
        log.append(f"got {got}")
        try:
            yield 2
        except KeyError:
            log.append("key")
            yield 3

    @noting()
    def once(x: int) -> int:
        log.append("once")
        return x

    g = numbers()
    log.append(str(next(g)))
    log.append(str(g.send("a")))
    log.append(str(g.throw(KeyError())))
    g.close()
    once(1)

    class both:
        def __call__(self) -> None: ...

        def __enter__(self) -> None: ...

    decorate = t("utils._contextlib").context_decorator
    return [log, told(lambda: decorate(both(), once))[0], told(lambda: decorate(noting, both))[0]]


@case
def exchanged_tensors(t: Any) -> Any:
    class Sub(t.Tensor):
        pass

    a, b = t.ones(2), t.zeros(3).as_subclass(Sub)
    b.label = "b"
    t.utils.swap_tensors(a, b)
    r = weakref.ref(a)
    return [
        type(a).__name__,
        type(b).__name__,
        a.as_subclass(t.Tensor),
        b,
        a.label,
        told(lambda: t.utils.swap_tensors(a, b)),
        r() is a,
    ]


@case
def legacy_storages(t: Any) -> Any:
    s = t.FloatStorage([1, 2, 3])
    found = [
        s.tolist(),
        len(s),
        str(s.dtype),
        isinstance(s, t.FloatStorage),
        isinstance(s, t.ByteStorage),
        str(t.LongStorage.dtype),
    ]
    found += [
        t.ByteStorage.from_buffer(b"abc").tolist(),
        len(t.FloatStorage(3)),
        t.BoolStorage([1, 0]).tolist(),
        len(t.IntStorage()),
    ]
    found += [
        t.FloatStorage.from_buffer(b"\x00\x00\x80\x3f", byte_order="little").tolist(),
        issubclass(t.FloatStorage, t.TypedStorage),
    ]
    made = (
        lambda: t.FloatStorage([1], 2),
        lambda: t.FloatStorage({}),
        lambda: t.FloatStorage(2, device="cpu"),
    )
    return [*found, *[told(f)[0] for f in made]]


def _flops(t: Any, run: Callable[[], Any]) -> Any:
    with t("utils.flop_counter").FlopCounterMode(display=False) as counter:
        run()
    counts = sorted(counter.get_flop_counts().items())
    return {
        k: {str(op): n for op, n in sorted(v.items(), key=str)} for k, v in counts
    }, counter.get_total_flops()


@case
def floating_point_operations(t: Any) -> Any:
    nn = t.nn
    x = t.ones(2, 3, 8, 8, requires_grad=True)
    conv, up = nn.Conv2d(3, 6, 3, padding=1, groups=3), nn.ConvTranspose2d(3, 4, 3, stride=2)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Sequential(nn.Linear(16, 4)))
    heads = nn.MultiheadAttention(8, 2)
    s = t.ones(3, 1, 8)
    return [
        _flops(t, lambda: conv(x).sum().backward()), _flops(t, lambda: up(x).sum().backward()),
        _flops(t, lambda: heads(s, s, s)), _flops(t, lambda: net(t.ones(3, 8)).sum().backward()),
        _flops(t, lambda: t.ones(5, 2, 3) @ t.ones(5, 3, 4)),
        _flops(t, lambda: t.baddbmm(t.ones(5, 2, 4), t.ones(5, 2, 3), t.ones(5, 3, 4))),
        _flops(t, lambda: t.ones(3) @ t.ones(3)),
    ]  # fmt: skip


@case
def sobol_sequences(t: Any) -> Any:
    engine = t("quasirandom").SobolEngine
    e, s = engine(5), engine(3, scramble=True, seed=5)
    found = [
        e.draw(5),
        e.draw(2, dtype=t.float64),
        e.fast_forward(3).draw(1),
        e.reset().draw(1),
        repr(s),
        s.draw(3),
        s.draw_base2(0),
    ]
    found += [
        s.shift,
        s.sobolstate,
        engine(2, True, 7).draw_base2(2),
        engine(1200).draw(3)[:, ::100],
        engine(4).fast_forward(7).draw(2),
    ]
    return [
        *found,
        *[told(lambda n=n: engine(n)) for n in (0, 30000)],
        told(lambda: e.draw_base2(3)),
    ]


@case
def associative_scans(t: Any) -> Any:
    scan = t("_higher_order_ops.associative_scan").associative_scan
    x = t.arange(1.0, 15.0).reshape(2, 7)

    def affine(a: Any, b: Any) -> Any:
        return a[0] * b[0], b[0] * a[1] + b[1]

    def run(f: Any, *args: Any, **options: Any) -> Any:
        return told(lambda: scan(f, *args, combine_mode="generic", **options))

    found = [run(t.add, x, d) for d in (0, 1, -1, 5)] + [
        run(t.mul, x / 4, 1, reverse=True),
        run(affine, (x / 8, x), 1),
    ]
    found += [
        run(lambda a, b: {"m": t.maximum(a["m"], b["m"])}, {"m": -x}, 1),
        run(5, x, 0),
        run(t.add, x[:, :1], 1),
    ]
    return [
        *found,
        told(lambda: scan(t.add, x, 0)),
        told(lambda: scan(t.add, x, 0, combine_mode="other")),
    ]


@contextlib.contextmanager
def _one_process(t: Any, port: int) -> Any:
    before = dict(os.environ)
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(port), RANK="0", WORLD_SIZE="1")
    t("distributed").init_process_group("gloo")
    try:
        yield
    finally:
        t("distributed").destroy_process_group()
        os.environ.clear()
        os.environ.update(before)


@case
def meshes_of_one_process(t: Any) -> Any:
    with _one_process(t, 29540 if t.root is reference else 29541):
        mesh = t("distributed.device_mesh")
        m, n = (
            mesh.init_device_mesh("cpu", (1,)),
            mesh.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp")),
        )
        found = [
            repr(m),
            repr(n),
            repr(n["dp"]),
            repr(n["dp", "tp"]),
            m.shape,
            n.size(),
            n.size(0),
            m.ndim,
            m.get_rank(),
        ]
        found += [n.get_local_rank("tp")]
        found += [
            list(m.get_coordinate()),
            m.mesh,
            m.mesh_dim_names,
            n["tp"].mesh_dim_names,
            m == mesh.init_device_mesh("cpu", (1,)),
        ]
        found += [
            len(n.get_all_groups()),
            repr(n._flatten()),
            told(lambda: n["x"]),
            told(lambda: m["dp"]),
            told(n.get_group),
        ]
        found += [
            told(lambda: mesh.init_device_mesh("cpu", (2,))),
            told(lambda: mesh.init_device_mesh("cpu:0", (1,))),
        ]
        for names in (("a", "a"), ("a",)):
            found.append(
                told(lambda names=names: mesh.init_device_mesh("cpu", (1, 1), mesh_dim_names=names))
            )
        x = t.ones(2, requires_grad=True)
        functional = t("distributed.nn")
        functional.all_reduce(x * 3).sum().backward()
        found += [x.grad, functional.all_gather(x), functional.reduce_scatter(t.zeros(2), [x])]
        return [*found, told(lambda: t.distributed.P2POp(5, x, 0))]


@case
def placements_and_settings(t: Any) -> Any:
    types, api = t("distributed.tensor.placement_types"), t("distributed.fsdp.api")
    shard, replicate, partial = types.Shard, types.Replicate, types.Partial
    found = [
        str(shard(0)),
        str(replicate()),
        str(partial()),
        str(partial("avg")),
        repr(partial("avg")),
    ]
    found += [shard(1) == shard(1), shard(0) == shard(1)]
    found += [
        shard(0).is_shard(),
        shard(0).is_shard(1),
        replicate().is_replicate(),
        partial().is_partial(),
        shard(-1).dim,
    ]
    enums = ("ShardingStrategy", "BackwardPrefetch", "StateDictType")
    found += [{k: v.value for k, v in getattr(api, name).__members__.items()} for name in enums]
    named = (
        "StateDictConfig",
        "FullStateDictConfig",
        "FullOptimStateDictConfig",
        "ShardedOptimStateDictConfig",
        "CPUOffload",
    )
    wrap, nn = t("distributed.fsdp.wrap"), t.nn
    layer = nn.Linear(2, 2)
    found += [vars(getattr(api, name)()) for name in named]
    found += [
        wrap.size_based_auto_wrap_policy(layer, recurse, n, min_num_params=5)
        for recurse in (True, False)
        for n in (4, 6)
    ]
    found += [
        wrap.transformer_auto_wrap_policy(layer, False, 0, {kind})
        for kind in (nn.Linear, nn.Conv1d)
    ]
    return [
        *found,
        wrap.ModuleWrapPolicy([nn.Linear])(layer, False),
        repr(wrap.wrap(layer)),
        wrap.always_wrap_policy(),
    ]


@case
def activation_checkpoints(t: Any) -> Any:
    module = t("distributed.algorithms._checkpoint.checkpoint_wrapper")
    nn = t.nn
    found: list[Any] = []
    for options in ({}, {"checkpoint_impl": module.CheckpointImpl.REENTRANT}):
        net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Sequential(nn.Linear(3, 1), nn.ReLU()))
        with t.no_grad():
            for i, p in enumerate(net.parameters()):
                p.copy_(t.arange(p.numel()).reshape(p.shape) / 7 + i)
        state = {k: v.clone() for k, v in net.state_dict().items()}
        module.apply_activation_checkpointing(
            net,
            lambda m, options=options: module.checkpoint_wrapper(m, **options),
            lambda m: isinstance(m, nn.Linear),
        )
        net.load_state_dict(state)
        x = t.ones(2, 2, requires_grad=True)
        net(x).sum().backward()
        found += [
            list(net.state_dict()),
            [n for n, _ in net.named_parameters()],
            type(net[0]).__name__,
        ]
        found += [x.grad, net[0].weight.grad, net[0].in_features]
    return found


@case
def states_by_name(t: Any) -> Any:
    states, nn = t("distributed.checkpoint.state_dict"), t.nn

    def model() -> Any:
        net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
        net[2].weight.requires_grad_(False)
        with t.no_grad():
            for p in net.parameters():
                p.fill_(0.5)
        return net, t.optim.AdamW(
            [
                {"params": list(net[0].parameters()), "lr": 0.1},
                {"params": [*net[1].parameters(), net[2].bias]},
            ]
        )

    net, optimizer = model()
    net(t.tensor([[1.0, 2.0], [3.0, 5.0]])).sum().backward()
    optimizer.step()
    options = states.StateDictOptions
    found = [states.get_model_state_dict(net), states.get_optimizer_state_dict(net, optimizer)]
    found += [list(states.get_model_state_dict(net, options=options(ignore_frozen_params=True)))]
    found += [
        list(
            states.get_model_state_dict(
                net, submodules={net[0]}, options=options(keep_submodule_prefixes=False)
            )
        )
    ]
    flat = states.get_optimizer_state_dict(
        net, optimizer, options=options(flatten_optimizer_state_dict=True)
    )
    found += [flat]
    for given, how in ((found[1], options()), (flat, options(flatten_optimizer_state_dict=True))):
        other, fresh = model()
        states.set_state_dict(
            other, fresh, model_state_dict=found[0], optim_state_dict=given, options=how
        )
        found += [other.state_dict(), fresh.state_dict()]
    return found


@case
def members_by_name(t: Any) -> Any:
    module = t("nn.utils._named_member_accessor")
    net = t.nn.Sequential(t.nn.Linear(2, 1))
    accessor = module.NamedMemberAccessor(net)
    found = [accessor.get_tensor("0.weight").shape, accessor.check_keys(["0.weight", "x"])]
    accessor.set_tensor("0.weight", t.zeros(1, 2))
    before, missing = accessor.swap_tensors_dict(
        {"0.bias": t.ones(1), "0.extra": t.ones(2)}, allow_missing=True
    )
    found += [net[0].weight, net[0].bias, sorted(before), missing, net[0].extra]
    found += [
        told(lambda n=n: module.swap_tensor(net[0], n, t.ones(1)))
        for n in ("none", "a.b", "", "in_features")
    ]
    return [
        *found,
        told(lambda: module.swap_tensor(net[0], "bias", 5)),
        told(lambda: module.swap_submodule(net, "7", net)),
    ]


@case
def quantisation_marks(t: Any) -> Any:
    q = t("ao.quantization")
    return [
        q.QuantStub()(t.ones(1)),
        repr(q.DeQuantStub()),
        list(q.QuantWrapper(t.nn.Linear(1, 1)).state_dict()),
    ]


@case
def old_assertions(t: Any) -> Any:
    close = t.testing.assert_allclose
    pairs = [(t.ones(2), t.ones(2) + 5e-5), (t.ones(2), t.ones(2).double()), ([1, 2], [1, 2])]
    return [told(lambda a=a, b=b: close(a, b)) for a, b in pairs] + [
        told(lambda: close(t.ones(2), t.zeros(2)))[0]
    ]


@case
def types_in_schemas(t: Any) -> Any:
    texts = [
        "f(Tensor a) -> strange", "f(strange a) -> Tensor", "f(int64_t a) -> Tensor",
        "f(Tensor x, double[] a) -> ()", "f(Tensor x, long? y) -> ()",
        "f(Tensor x, *, string y) -> ()", "f( tensor x) -> ()",
        "f(Tensor[] x, SymInt[2]? y, Scalar[] s, Dict(str, Tensor) d, Any z) -> (Tensor, int)",
        ("g(Tensor x, Union(int, str) u, Future(Tensor) w, Await(Tensor) v, RRef(Tensor) r, "
         "Quantizer q) -> ()"),
    ]  # fmt: skip
    with t.library._scoped_library("schemas_of_names", "FRAGMENT") as lib:
        return [told(lambda text=text: lib.define(text)) for text in texts]


@case
def types_that_have_no_arrays_here(t: Any) -> Any:
    names = [n for n in dir(reference) if isinstance(getattr(reference, n), reference.dtype)]
    types = [getattr(t, n) for n in names]
    answers = ("is_floating_point", "is_complex", "is_signed", "itemsize")
    return [
        (
            str(d),
            type(d) is t.dtype,
            *[told(lambda d=d, a=a: getattr(d, a)) for a in answers],
            hasattr(d, "shape"),
        )
        for d in types
    ]


def _doubled(x: Any) -> Any:
    return x * 2


@case
def settings_of_compilers_and_backends(t: Any) -> Any:
    inductor, dynamo = t("_inductor.config"), t("_dynamo.config")
    with t("_dynamo.utils").disable_cache_limit():
        limits = dynamo.recompile_limit, dynamo.accumulated_recompile_limit
    names = (
        "max_autotune_gemm_search_space", "max_autotune_flex_search_space",
        "coordinate_descent_check_all_directions", "cpp_cache_precompile_headers",
        "eager_numerics.division_rounding", "cpp.enable_concat_linear",
    )  # fmt: skip
    before, t._C._mps_is_available = t._C._mps_is_available, lambda: True
    # PyTorch asks once in a process
    forget = getattr(t.backends.mps.is_available, "cache_clear", lambda: None)
    forget()
    replaced = t.backends.mps.is_available()
    t._C._mps_is_available = before
    forget()
    built = [
        getattr(t._C, f"_has_{n}") for n in ("cuda", "cudnn", "mps", "magma", "xpu", "mkldnn_acl")
    ]
    config = t("_C._profiler")._ExperimentalConfig(verbose=True, custom_profiler_config="text")
    return [
        [operator.attrgetter(n)(inductor) for n in names], limits, dynamo.recompile_limit, before(),
        replaced, told(lambda: t._C._mps_is_on_macos_or_newer(13, 0)), built, t.has_cuda, t.has_mps,
        t.has_cudnn, config.custom_profiler_config, config.trace_only,
        t._disable_dynamo(_doubled)(3), t._dynamo.nonstrict_trace(_doubled)(2),
        t._dynamo.nonstrict_trace(_doubled).__name__, told(lambda: t._dynamo.nonstrict_trace(3)),
    ]  # fmt: skip
