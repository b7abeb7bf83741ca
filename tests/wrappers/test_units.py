"""UnitTensor: units through arithmetic, functions and gradients; clear errors."""

from __future__ import annotations

import copy
import pickle

import jax
import pytest

pint = pytest.importorskip("pint")

import jtorch as torch  # noqa: E402
from jtorch.wrappers import MetadataTensor, UnitError, UnitTensor, coverage, units  # noqa: E402


def u(data, unit=""):
    return UnitTensor(data, unit)


def same(x, data, unit):
    same_unit = isinstance(x, UnitTensor) and x.unit == pint.get_application_registry().Unit(unit)
    return same_unit and torch.allclose(x.magnitude, torch.tensor(data), rtol=1e-4)


WAY, TIME = u([3.0, 6.0], "km"), u([2.0, 3.0], "minute")
FAR = u(4000.0, "m")


@pytest.mark.parametrize(
    ("x", "data", "unit"),
    [
        (lambda: WAY / TIME, [1.5, 2.0], "km/minute"),
        (lambda: (WAY / TIME).to_unit("m/s"), [25.0, 33.3333], "m/s"),
        (lambda: WAY + u(500.0, "m"), [3.5, 6.5], "km"),
        (lambda: u(500.0, "m") + WAY, [3500.0, 6500.0], "m"),
        (lambda: WAY - WAY / 3, [2.0, 4.0], "km"), (lambda: WAY * WAY, [9.0, 36.0], "km**2"),
        (lambda: 2 * WAY, [6.0, 12.0], "km"), (lambda: torch.ones(2) * WAY, [3.0, 6.0], "km"),
        (lambda: 6 / WAY, [2.0, 1.0], "1/km"), (lambda: WAY**2, [9.0, 36.0], "km**2"),
        (lambda: torch.sqrt(WAY * WAY), [3.0, 6.0], "km"), (WAY.square, [9.0, 36.0], "km**2"),
        (lambda: -WAY, [-3.0, -6.0], "km"), (WAY.reciprocal, [1 / 3, 1 / 6], "1/km"),
        (WAY.rsqrt, [3**-0.5, 6**-0.5], "km**-0.5"), (WAY.sum, 9.0, "km"),
        (lambda: WAY.mean(0, keepdim=True), [4.5], "km"), (WAY.max, 6.0, "km"), (lambda: torch.std(WAY, correction=0), 1.5, "km"), (lambda: torch.var(WAY, correction=0), 2.25, "km**2"), (WAY.prod, 18.0, "km**2"), (lambda: torch.cat([WAY, u([500.0], "m")]), [3.0, 6.0, 0.5],  # noqa: E501
                                    "km"),
        (lambda: torch.stack([u(1.0, "m"), u(1.0, "km")]), [1.0, 1000.0], "m"),
        (lambda: WAY.flip(0).reshape(2, 1)[:, 0], [6.0, 3.0], "km"),
        (lambda: torch.where(WAY > FAR, WAY, u(0.0, "m")), [0.0, 6.0], "km"),
        (lambda: WAY.clamp(max=u(5000.0, "m")), [3.0, 5.0], "km"),
        (lambda: torch.dot(WAY, TIME), 24.0, "km*minute"),
        (lambda: torch.outer(WAY, WAY)[0], [9.0, 18.0], "km**2"),
        (lambda: torch.exp(u([0.0], "m") / u([1.0], "km")), [1.0], ""), (lambda: torch.sin(u([90.0], "degree")), [1.0], ""),  # noqa: E501
        (lambda: torch.nn.functional.mse_loss(WAY, u([3000.0, 5000.0], "m")), 0.5, "km**2"),
        (lambda: torch.linalg.norm(WAY), 45**0.5, "km"),
        (lambda: torch.atan(WAY / u(1.0, "km"))[:1], [1.2490], ""),
        (lambda: WAY.sort(descending=True).values, [6.0, 3.0], "km"),
        (lambda: WAY.to(torch.float64).float(), [3.0, 6.0], "km"),
    ],
)  # fmt: skip
def test_units_follow(x, data, unit):
    assert same(x(), data, unit), x()


def test_answers_without_unit():
    assert (
        (WAY > FAR).tolist() == [False, True]
        and torch.allclose(WAY, u([3000.0, 6000.0], "m"))
        and WAY.argmax().item() == 1
    )
    assert (
        WAY.shape == (2,)
        and WAY.dtype is torch.float32
        and torch.isnan(WAY).tolist() == [False] * 2
        and len(WAY) == 2
    )
    assert [same(x, v, "km") for x, v in zip(WAY, (3.0, 6.0), strict=True)] == [True, True]
    assert (
        repr(u([1.0], "m / s")) == "UnitTensor(tensor([1.]), 'meter / second')"
        and f"{u(1.5, 'm'):.2f}" == "1.50 meter"
    )


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: WAY + TIME,
         r"torch\.add\(\): 'kilometer' \(\[length\]\) and 'minute' \(\[time\]\) do not go together"),  # noqa: E501
        (lambda: WAY + 1, "'kilometer'.*'dimensionless'"),
        (lambda: torch.ones(2) + WAY, "do not go together"), (lambda: WAY > TIME, r"torch\.gt"),
        (lambda: torch.exp(WAY), r"torch\.exp\(\): 'dimensionless'.*'kilometer'"),
        (lambda: torch.cat([WAY, TIME]), r"torch\.cat"), (lambda: WAY.to_unit("kg"), "to_unit"),
        (lambda: WAY ** torch.tensor([1.0, 2.0]), "one exponent"),
        (lambda: torch.ones(2).add_(WAY), "plain tensor cannot take"),
        (lambda: WAY.clone().add_(TIME), r"add_\(\)"),
        (lambda: u(1.0, "degC") + u(1.0, "kelvin"), "different zeros"),
    ],
)  # fmt: skip
def test_mismatches(call, text):
    with pytest.raises(UnitError, match=text):
        call()


def test_refusals():
    for call in (
        lambda: torch.fft.fft(WAY),
        lambda: WAY.view(torch.int32).bitwise_not(),
        lambda: torch.add(WAY, WAY, out=torch.ones(2)),
    ):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(TypeError, match="have a unit already"):
        UnitTensor(WAY, "m")


def test_in_place():
    x = u([1.0, 2.0], "m")
    before = x
    x += u(1.0, "km")
    x.mul_(2).clamp_(max=u(2003.0, "m"))
    x[0] = u(1.0, "km")
    assert x is before and same(x, [1000.0, 2003.0], "m")
    with pytest.raises(UnitError):
        x.mul_(u(2.0, "m"))


def test_gradients_have_units():
    x = u([1.0, 2.0], "m").requires_grad_()
    y = (x * x).sum() / u(2.0, "s")
    y.backward()
    assert same(x.grad, [1.0, 2.0], "m/s") and x.is_leaf and x.requires_grad
    (x.sum() * u(1.0, "m") / u(1.0, "s")).backward()
    assert same(x.grad, [2.0, 3.0], "m/s")
    with pytest.raises(UnitError, match="gradients in"):
        x.sum().backward()
    x.grad = None
    assert x.grad is None
    (g,) = torch.autograd.grad((x**3).sum(), x)
    assert same(g, [3.0, 12.0], "m**2")
    (g,) = torch.autograd.grad(torch.exp(x / u(1.0, "m")).sum(), [x])
    assert g.unit == (1 / u(1.0, "m")).unit


def test_modules_and_composition():
    linear = torch.nn.Linear(2, 3, bias=False)
    assert linear(u([[1.0, 2.0]], "m")).unit == u(0.0, "m").unit
    with pytest.raises(UnitError, match="linear"):
        torch.nn.Linear(2, 3)(u([[1.0, 2.0]], "m"))
    x = MetadataTensor(u([1.0, 2.0], "m"), {"by": "me"})
    r = torch.add(u([1.0, 2.0], "km"), x) * x
    assert r.metadata == {"by": "me"} and same(r.tensor, [1.001, 4.004], "km*m")
    assert (
        same((x.sum() / 3).tensor, 1.0, "m")
        and x.shape == (2,)
        and x.reshape(2, 1).tensor.unit == x.tensor.unit
    )


def test_copies_and_trees():
    for y in (copy.deepcopy(WAY), pickle.loads(pickle.dumps(WAY))):
        assert same(y, [3.0, 6.0], "km")
    assert same(jax.jit(lambda x: x * x)(WAY), [9.0, 36.0], "km**2") and same(
        jax.vmap(lambda x: x + x)(WAY), [6.0, 12.0], "km"
    )


def test_coverage_partitions_the_list():
    sets = units.COVERAGE
    every = coverage.overridable_functions()
    parts = [set(sets[name]) for name in ("unchanged", "special", "delegates", "refused")]
    assert set().union(*parts) == every and sum(map(len, parts)) == len(every)
    assert (
        torch.sum in sets["unchanged"]
        and torch.mul in sets["special"]
        and torch.isnan in sets["delegates"]
    )
    assert torch.fft.fft in sets["refused"] and all(sets["refused"].values())


def test_no_private_import():
    """The type is written with the public namespace alone."""
    import ast
    import inspect

    for node in ast.walk(ast.parse(inspect.getsource(units))):
        names = (
            [a.name for a in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        )
        module = getattr(node, "module", None) or ""
        assert not any(
            part.startswith("_") and part != "__future__"
            for name in [module, *names]
            for part in name.split(".")
        ), names
