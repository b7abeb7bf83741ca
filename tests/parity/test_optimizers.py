"""The OptimizerInfo database: every configuration of every optimiser moves parameters, keeps state
and complains as PyTorch's does."""

from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db  # noqa: E402

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

STEPS = 6
#: Orthogonalisation in bfloat16 rounds to 3 digits; a line search amplifies rounding.
LOOSE = {"Muon": 8e-3, "LBFGS": 1e-4}


def implementations(info: Any) -> list[dict[str, Any]]:
    """The flags that choose among PyTorch's implementations and that this optimiser has on the
    CPU."""
    found: list[dict[str, Any]] = [{}]
    if "foreach" in info.supported_impls:
        found.append({"foreach": True})
    if "cpu" in info.supports_fused_on:
        found.append({"fused": True})
    return found


def cases() -> list[Any]:
    found = []
    for info in optim_db:
        for k, config in enumerate(info.optim_inputs_func("cpu")):
            for flags in implementations(info):
                if flags.get("foreach") and isinstance(config.kwargs.get("lr"), torch.Tensor):
                    continue  # refused: see ``test_errors``
                name = f"{info.optim_cls.__name__}-{k}-{config.desc}-{next(iter(flags), 'plain')}".replace(  # noqa: E501
                    " ", "_"
                )
                found.append(pytest.param(info, {**config.kwargs, **flags}, id=name))
    return found


def to_jtorch(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return jtorch.tensor(x.detach().numpy()).requires_grad_(x.requires_grad)
    if isinstance(x, (list, tuple)):
        return type(x)(to_jtorch(item) for item in x)
    if isinstance(x, dict):
        return {k: to_jtorch(v) for k, v in x.items()}
    return x


def to_torch(x: Any) -> Any:
    if isinstance(x, jtorch.Tensor):
        return torch.from_numpy(x.detach().numpy().copy())
    if isinstance(x, (list, tuple)):
        return type(x)(to_torch(item) for item in x)
    if isinstance(x, dict):
        return {k: to_torch(v) for k, v in x.items()}
    return x


def start(library: Any, info: Any, dtype: str) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = [(4, 3), (3, 2)] if info.optim_cls.__name__ == "Muon" else [(4, 3), (5,), ()]
    return [
        library.nn.Parameter(
            library.tensor(np.asarray(rng.standard_normal(s)), dtype=getattr(library, dtype))
        )
        for s in shapes
    ]


def train(
    library: Any, info: Any, optimizer: Any, params: list[Any], first: int, steps: int
) -> None:
    """Steps on a loss whose last parameter takes no part in every third one."""

    def closure() -> Any:
        optimizer.zero_grad()
        used = params[:-1] if step % 3 == 1 else params
        loss = sum((p - 0.3).abs().pow(2.5).sum() for p in used)
        loss.backward()
        if info.only_supports_sparse_grads:
            for p in used:
                p.grad = p.grad.to_sparse()
        return loss

    for step in range(first, first + steps):  # noqa: B007 (the closure reads it)
        if info.step_requires_closure:
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
    del library


def assert_same(got: Any, want: Any, tolerance: float, what: str) -> None:
    if isinstance(want, torch.Tensor):
        assert isinstance(got, jtorch.Tensor), what
        assert (str(got.dtype), tuple(got.shape)) == (str(want.dtype), tuple(want.shape)), what
        np.testing.assert_allclose(
            got.detach().numpy(),
            want.detach().numpy(),
            rtol=tolerance,
            atol=tolerance,
            err_msg=what,
        )
    elif isinstance(want, dict):
        assert list(got) == list(want), what
        for key in want:
            assert_same(got[key], want[key], tolerance, f"{what}[{key!r}]")
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want), what
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_same(g, w, tolerance, f"{what}[{i}]")
    elif isinstance(want, float):
        assert got == pytest.approx(want, rel=1e-5, nan_ok=True), what
    else:
        assert got == want, what


@pytest.mark.parametrize(("info", "options"), cases())
def test_steps_and_state(info: Any, options: dict[str, Any]) -> None:
    """Parameters and state after some steps; then each library goes on from the other's state."""
    name = info.optim_cls.__name__
    tolerance = LOOSE.get(name, 2e-5)
    steps = 1 if name == "LBFGS" else STEPS
    results = []
    for library, given in ((torch, copy.deepcopy(options)), (jtorch, to_jtorch(options))):
        params = start(library, info, "float32")
        optimizer = getattr(library.optim, name)(params, **given)
        train(library, info, optimizer, params, 0, steps)
        results.append((params, optimizer))
    (theirs, their_optimizer), (ours, our_optimizer) = results
    assert_same(ours, theirs, tolerance, "parameters")
    assert repr(our_optimizer) == repr(their_optimizer)
    want, got = their_optimizer.state_dict(), our_optimizer.state_dict()
    if name == "LBFGS":  # where its search stops hangs on the last bit
        assert [*got["state"][0]] == [*want["state"][0]]
    else:
        assert_same(got, want, tolerance, "state")

    file = io.BytesIO()
    jtorch.save(got, file)
    file.seek(0)
    in_torch = torch.load(file)  # what is written here is read there
    continued = [
        clone(torch, theirs, info, options, in_torch),
        clone(jtorch, ours, info, to_jtorch(options), to_jtorch(want)),
    ]
    train(torch, info, continued[0][1], continued[0][0], steps, steps)
    train(jtorch, info, continued[1][1], continued[1][0], steps, steps)
    assert_same(continued[1][0], continued[0][0], 10 * tolerance, "parameters after the exchange")


def clone(
    library: Any, params: list[Any], info: Any, options: dict[str, Any], state: Any
) -> tuple[list[Any], Any]:
    """An optimiser on copies of ``params`` that was given ``state``."""
    params = [library.nn.Parameter(p.detach().clone()) for p in params]
    optimizer = getattr(library.optim, info.optim_cls.__name__)(params, **copy.deepcopy(options))
    optimizer.load_state_dict(state)
    return params, optimizer


@pytest.mark.parametrize("info", optim_db, ids=lambda info: info.optim_cls.__name__)
def test_double_and_complex(info: Any) -> None:
    name = info.optim_cls.__name__
    for dtype in (
        ("float64", "complex64") if info.supports_complex and name != "LBFGS" else ("float64",)
    ):
        results = []
        for library in (torch, jtorch):
            params = start(library, info, dtype)
            optimizer = getattr(library.optim, name)(params)
            train(library, info, optimizer, params, 0, 2 if name == "LBFGS" else STEPS)
            results.append(params)
        loose = LOOSE.get(
            name, 2e-5 if dtype == "complex64" else 1e-7 if name == "Adafactor" else 1e-10
        )
        assert_same(results[1], results[0], loose, f"{name} {dtype}")


@pytest.mark.parametrize("info", optim_db, ids=lambda info: info.optim_cls.__name__)
def test_groups_and_copies(info: Any) -> None:
    """Groups with options of their own; a deep copy of the optimiser goes on alike."""
    if not info.supports_param_groups:
        pytest.skip("one group only")
    name = info.optim_cls.__name__
    results = []
    for library in (torch, jtorch):
        params = start(library, info, "float32")
        groups = [{"params": params[:1], "lr": 0.05}, {"params": params[1:]}]
        optimizer = getattr(library.optim, name)(groups, lr=0.01)
        train(library, info, optimizer, params, 0, 3)
        again = copy.deepcopy(optimizer)
        params = [p for group in again.param_groups for p in group["params"]]
        train(library, info, again, params, 3, 3)
        assert [g["lr"] for g in again.state_dict()["param_groups"]] == [0.05, 0.01]
        results.append(params)
    assert_same(results[1], results[0], LOOSE.get(name, 2e-5), name)


@pytest.mark.parametrize(
    "info",
    [i for i in optim_db if i.optim_error_inputs_func],
    ids=lambda info: info.optim_cls.__name__,
)
def test_errors(info: Any) -> None:
    """The database's wrong configurations, word for word."""
    for case in info.optim_error_inputs_func(device="cpu", dtype=torch.float32):
        given = case.optimizer_error_input
        want, got = [complaint(library, info, case, given) for library in (torch, jtorch)]
        assert want is not None, given.desc
        assert got == want, given.desc


def complaint(library: Any, info: Any, case: Any, given: Any) -> tuple[str, str] | None:
    convert: Callable[[Any], Any] = (lambda x: x) if library is torch else _convert_params
    params = (
        [library.nn.Parameter(library.ones(1, 1))]
        if given.params is None
        else convert(given.params)
    )
    options = copy.deepcopy(given.kwargs) if library is torch else to_jtorch(given.kwargs)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        try:
            optimizer = getattr(library.optim, info.optim_cls.__name__)(params, **options)
            if case.error_on is OptimizerErrorEnum.STEP_ERROR:
                optimizer.step()
        except Exception as e:
            return type(e).__name__, str(e).replace("jtorch", "torch")
    return None


def _convert_params(x: Any) -> Any:
    """As ``to_jtorch``; the same parameter twice stays one."""
    known: dict[int, Any] = {}

    def go(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            if id(x) not in known:
                if x.layout is not torch.strided:
                    known[id(x)] = jtorch.zeros(tuple(x.shape)).to_sparse()
                else:
                    made = to_jtorch(x)
                    known[id(x)] = (
                        jtorch.nn.Parameter(made) if isinstance(x, torch.nn.Parameter) else made
                    )
                    if x.grad is not None:
                        known[id(x)].grad = to_jtorch(x.grad)
            return known[id(x)]
        if isinstance(x, (list, tuple)):
            return type(x)(go(item) for item in x)
        if isinstance(x, dict):
            return {k: go(v) for k, v in x.items()}
        return x

    return go(x)


def test_nadam_keeps_its_product_as_torch_does() -> None:
    made = []
    for library in (jtorch, torch):
        p = library.nn.Parameter(library.tensor([0.5, -0.3], dtype=library.float64))
        optimizer = library.optim.NAdam([p], lr=0.1, weight_decay=0.1, decoupled_weight_decay=True)
        for i in range(5):
            p.grad = library.tensor([0.1 * (i + 1), -0.2], dtype=library.float64)
            optimizer.step()
        made.append(p.detach().numpy())
    np.testing.assert_allclose(made[0], made[1], rtol=1e-14)
