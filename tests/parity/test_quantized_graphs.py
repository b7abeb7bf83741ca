"""What packages that quantise graphs ask of them and of PyTorch."""

from __future__ import annotations

import copy
import importlib
import operator
from typing import Any

import numpy as np
import pytest
import torch

import jtorch

pytestmark = pytest.mark.parity
BOTH = (torch, jtorch)


def part(t: Any, path: str) -> Any:
    """A module of either package."""
    return importlib.import_module(f"{t.__name__}.{path}")


def model(t: Any) -> Any:
    """A model with layers, functions, methods, operators and unused state."""

    class Model(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = t.nn.Conv2d(3, 4, 3)
            self.bn = t.nn.BatchNorm2d(4)
            self.linear = t.nn.Linear(4, 2)
            self.unused = t.nn.Linear(1, 1)

        def forward(self, x: Any, *, scale: Any) -> Any:
            x = t.relu(self.bn(self.conv(x))).mean((2, 3))
            x = x + 1
            x += x
            x /= 2
            x = 1 - x
            return {
                "y": t.cat([self.linear(x)]) * scale,
                "z": (t.nn.functional.linear(x, self.linear.weight),),
            }

    return Model().eval()


def exported(t: Any, strict: bool) -> Any:
    """The model's program."""
    return t.export.export(model(t), (t.ones(2, 3, 6, 6),), {"scale": t.ones(1)}, strict=strict)


def named(source: Any) -> Any:
    """A source in words that both packages have."""
    return getattr(source, "__name__", source)


@pytest.mark.parametrize("strict", [True, False])
def test_nodes_know_what_they_come_from(strict: bool) -> None:
    seen = []
    for t in BOTH:
        program = exported(t, strict)
        module = program.module()
        nodes = [
            (n.op, n.name, [named(s) for _, s in n.meta.get("source_fn_stack", [])],
             n.meta["torch_fn"][0] if "torch_fn" in n.meta else "",
             [(s.name, s.pass_name, s._get_action_string()) for s in n.meta.get("from_node", [])])
            for n in module.graph.nodes
        ]  # fmt: skip
        wanted = [
            t.nn.Conv2d,
            t.nn.BatchNorm2d,
            t.nn.Linear,
            operator.iadd,
            t.cat,
            "mean",
            "linear",
            t.nn.functional.linear,
        ]
        parts = part(t, "fx.passes.utils.source_matcher_utils").get_source_partitions(
            module.graph, wanted
        )
        found = {
            named(source): [
                [
                    sorted(map(str, some))
                    for some in (p.nodes, p.input_nodes, p.output_nodes, p.params)
                ]
                for p in each
            ]
            for source, each in parts.items()
        }
        seen.append(
            (
                sorted(map(repr, nodes)),
                found,
                sorted(dict(module.named_parameters())),
                sorted(dict(module.named_buffers())),
            )
        )
    assert seen[0] == seen[1]


def test_modules_of_programs_are_called_by_their_signature() -> None:
    seen = []
    for t in BOTH:
        module = exported(t, True).module()
        # which knows how arguments are nested, and checks them
        again = t.fx.GraphModule(module, module.graph)
        with pytest.raises(AssertionError, match="Guard failed"):
            again(t.ones(3, 3, 6, 6), scale=t.ones(1))
        result = again(t.ones(2, 3, 6, 6), scale=t.ones(1))
        seen.append(
            (module.code.split("\n")[3:6], list(result), result["z"][0].shape, str(again._in_spec))
        )
        copied = copy.deepcopy(module) if t is jtorch else module
        assert copied(t.ones(2, 3, 6, 6), scale=t.ones(1))["y"].shape == (2, 2)
    assert seen[0] == seen[1]


def pattern_and_target(t: Any) -> tuple[Any, Any]:
    """A pattern that gives names to its nodes, and a program with it in two places, and a third
    where a node is used from outside."""

    class Pattern(t.nn.Module):
        def forward(self, x: Any, weight: Any) -> Any:
            conv = t.conv2d(x, weight)
            found = t.relu(conv)
            return found, {"conv": conv, "relu": found}

    class Target(t.nn.Module):
        def forward(self, x: Any, weight: Any) -> Any:
            y = t.relu(t.conv2d(x, weight))
            y.mul_(2)
            y = t.relu(t.conv2d(y, weight, None, 1)).exp()
            kept = t.conv2d(y, weight)
            return t.relu(kept), kept.sum()

    return Pattern(), Target()


def test_patterns_with_names_are_found() -> None:
    seen = []
    for t in BOTH:
        inputs = (t.ones(1, 3, 3, 3), t.ones(3, 3, 1, 1))
        pattern, target = [
            t.export.export(m, inputs, strict=True).module(check_guards=False)
            for m in pattern_and_target(t)
        ]
        matcher = part(
            t, "fx.passes.utils.matcher_with_name_node_map_utils"
        ).SubgraphMatcherWithNameNodeMap(pattern)
        seen.append([
            (str(m.anchors), sorted(map(str, m.nodes_map.items())), str(m.placeholder_nodes),
             str(m.returning_nodes), str(m.name_node_map))
            for m in matcher.match(target.graph)
        ])  # fmt: skip
    assert seen[0] == seen[1] and len(seen[0]) == 2


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("low", "high"), [(0, 255), (-128, 127), (-127, 127)])
def test_observed_grids(rows: bool, symmetric: bool, low: int, high: int) -> None:
    values = np.random.default_rng(0).normal(size=(4, 3, 5)).astype(np.float32)
    for factor, watching, rounding in (
        (1.0, 1, 1),
        (1e-7, 1, 1),
        (0.0, 1, 1),
        (1.0, 0, 1),
        (1.0, 1, 0),
    ):
        seen = []
        for t in BOTH:
            x = t.tensor(values * factor, requires_grad=True)
            size = (4,) if rows else ()
            state = [
                t.full(size, float("inf")),
                t.full(size, float("-inf")),
                t.ones(size or 1),
                t.zeros(size or 1, dtype=t.int32),
            ]
            on = [t.tensor([watching]), t.tensor([rounding])]
            for i in (1, 2):
                y = t.fused_moving_avg_obs_fake_quant(
                    x * i, *on, *state, 0.01, low, high, 0, rows, symmetric
                )
            y.sum().backward()
            seen.append([v.detach().numpy().tolist() for v in (y, x.grad, *state)])
        assert seen[0] == seen[1], (factor, watching, rounding)


@pytest.mark.parametrize("channels", [False, True])
@pytest.mark.parametrize("zero", [0.0, 3.3, 7.5])
def test_learned_grids(channels: bool, zero: float) -> None:
    rng = np.random.default_rng(0)
    values, scales = (
        (rng.normal(size=(4, 3, 5)) * 3).astype(np.float32),
        (rng.random(3) * 0.05 + 0.02).astype(np.float32),
    )
    seen = []
    for t in BOTH:
        x, scale = (
            t.tensor(values, requires_grad=True),
            t.tensor(scales if channels else scales[:1], requires_grad=True),
        )
        at = t.full(scale.shape, zero, requires_grad=True)
        f = (
            t._fake_quantize_learnable_per_channel_affine
            if channels
            else t._fake_quantize_learnable_per_tensor_affine
        )
        y = f(x, scale, at, *((1,) if channels else ()), -100, 20, 0.3)
        (y * t.arange(60.0).view(4, 3, 5)).sum().backward()
        seen.append([v.detach().numpy() for v in (y, x.grad, scale.grad, at.grad)])
    for ours, theirs in zip(*seen, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6)


def test_small_parts() -> None:
    seen: list[Any] = []
    for t in BOTH:
        found: list[Any] = []
        for name in ("quint8", "qint8", "qint32"):
            info = t.iinfo(getattr(t, name))
            found.append((info.bits, info.min, info.max))
            found += [
                info == t.iinfo(getattr(t, name)),
                info == t.iinfo(t.uint8),
                hasattr(info, "x"),
            ]
            with pytest.raises(NotImplementedError) as none:
                repr(info)
            found.append(str(none.value))
        unflatten = part(t, "export.unflatten")
        m = t.nn.Module()
        unflatten._assign_attr(t.ones(2), m, "a.b", unflatten._AttrKind.BUFFER, persistent=False)
        unflatten._assign_attr(t.nn.Parameter(t.ones(2)), m, "a.p", unflatten._AttrKind.PARAMETER)
        with pytest.raises(AssertionError) as error:
            unflatten._assign_attr(3, m, "a.c", unflatten._AttrKind.BUFFER)
        found += [list(m.state_dict()), [n for n, _ in m.named_buffers()], str(error.value)]
        found.append(
            float(
                part(t, "ao.ns.fx.utils").compute_sqnr(t.tensor([1.0, 2.0]), t.tensor([1.0, 2.5]))
            )
        )
        graph = t.fx.Graph()
        x = graph.placeholder("x")
        node = graph.call_function(t.ops.aten.add.Tensor, (x, 1))
        graph.output(node)
        owner = t.fx.GraphModule(t.nn.Module(), graph)
        found += [
            str(node.normalized_arguments(owner, normalize_to_only_use_kwargs=only))
            for only in (False, True)
        ]
        source = part(t, "fx.traceback")
        note = source.NodeSource(
            x, "pass", [source.NodeSourceAction.CREATE, source.NodeSourceAction.REPLACE]
        )
        again = source.NodeSource._from_dict(note.to_dict())
        found += [
            again == note,
            hash(again) == hash(note),
            {k: v for k, v in note.to_dict().items() if k != "graph_id"},
        ]
        seen.append(found)
    assert seen[0] == seen[1]


def test_observers_are_put_into_graphs() -> None:
    for t in BOTH:
        module = t.fx.symbolic_trace(t.nn.Sequential(t.nn.Linear(2, 2)))
        node = list(module.graph.nodes)[1]
        prepare = part(t, "ao.quantization.fx.prepare")
        made = [
            prepare._insert_obs_or_fq(node, t.nn.Identity(), module, {}, module.graph)
            for _ in range(2)
        ]
        assert [(n.name, n.target, str(n.args)) for n in made] == [
            (f"activation_post_process_{i}",) * 2 + ("(_0,)",) for i in (0, 1)
        ]
        config = part(t, "ao.quantization.fx.custom_config").PrepareCustomConfig()
        prepare._save_state(
            module, {}, {}, config, {}, t.ao.quantization.QConfigMapping(), False, set()
        )
        assert part(t, "ao.quantization.fx.graph_module")._is_observed_module(module)


def test_common_types_of_types_that_exist_by_name_only() -> None:
    for name in ("int4", "uint4", "quint8", "qint32", "bits8", "complex32"):
        for other in ("float32", "float16", "bfloat16", "int64", "bool", "complex128"):
            found = []
            for t in BOTH:
                try:
                    found.append(
                        str(t.promote_types(getattr(t, name), getattr(t, other))).rpartition(".")[2]
                    )
                except RuntimeError as error:
                    # (an internal error of PyTorch's)
                    found.append("refused" if name == "int4" else str(error))
            assert found[0] == found[1], (name, other)
