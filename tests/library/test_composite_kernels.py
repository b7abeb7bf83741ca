"""Kernels that are written with operators (``CompositeExplicitAutograd``) serve tensors without
data, too."""

import jtorch as torch
from jtorch.library import _scoped_library


def test_a_kernel_written_with_operators_needs_no_fake() -> None:
    with _scoped_library("composite_kernels", "DEF") as lib:
        lib.define("twice(Tensor x) -> Tensor")
        lib.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        twice = torch.ops.composite_kernels.twice
        assert twice(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]
        assert twice(torch.ones(3, 4, device="meta")).shape == (3, 4)

        class Module(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return twice(x)

        program = torch.export.export(Module(), (torch.ones(2),))
        assert torch.ops.composite_kernels.twice.default in [n.target for n in program.graph.nodes]
        lib.impl("twice", lambda x: x.new_empty((5,)), "Meta")
        assert twice(torch.ones(3, device="meta")).shape == (5,)
