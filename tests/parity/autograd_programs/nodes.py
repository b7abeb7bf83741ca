"""Nodes that are called, hooks that misbehave, views reshaped in other modes, and what
``gradcheck`` hands to functions."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any


def nodes(torch: types.ModuleType) -> dict[str, Callable[[], Any]]:
    """The programs."""
    ag = torch.autograd
    fw = ag.forward_ad

    def leaf(*size):
        return torch.ones(*size, requires_grad=True)

    class Same(ag.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g

    class Kept(ag.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return ctx.saved_tensors[0] * g

    def grown(x):
        x += 1
        return x

    def t_called():
        with torch.no_grad():
            return (
                (leaf(3) ** 2).grad_fn(torch.ones(3)),
                (leaf(3) * 2).grad_fn(torch.ones(3)),
                leaf(3).sum().grad_fn(torch.ones(())),
            )

    def t_called_with_history():
        x = leaf(2)
        found = (x**3).grad_fn(torch.ones(2))
        return found.tolist(), ag.grad(found.sum(), x)

    def t_called_for_one_of_two_results():
        with torch.no_grad():
            return leaf(3).max(0)[0].grad_fn(torch.ones(()))

    def t_called_for_nothing():
        return (leaf(3) * 2).grad_fn(None)

    def t_called_without():
        return (leaf(1) ** 2).grad_fn()

    def t_called_with_more():
        return (leaf(1) ** 2).grad_fn(torch.ones(1), torch.ones(1))

    def t_called_with_a_number():
        return (leaf(1) ** 2).grad_fn(3)

    def t_pack_writes():
        with ag.graph.saved_tensors_hooks(grown, lambda x: x):
            return (leaf(1) * 2).exp()

    def t_pack_writes_later():
        y = leaf(1).exp()
        y.grad_fn._raw_saved_result.register_hooks(grown, lambda x: x)

    def t_pack_writes_in_function():
        with ag.graph.saved_tensors_hooks(grown, lambda x: x):
            return Kept.apply(leaf(1) * 2)

    def t_unpack_gives_text():
        with ag.graph.saved_tensors_hooks(lambda x: x, lambda x: "a"):
            y = leaf(1).exp()
        y.backward()

    def t_unpack_gives_text_in_function():
        with ag.graph.saved_tensors_hooks(lambda x: x, lambda x: "a"):
            y = Kept.apply(leaf(1) * 2)
        y.backward()

    def t_unpack_gives_a_number():
        y = leaf(1) * leaf(1)
        y.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: 1)
        return y.grad_fn._saved_self

    def t_reshaped_without_recording():
        v = leaf(2, 3).clone().view(6)
        with torch.no_grad():
            v.unsqueeze_(0)
        return v.add_(1).shape

    def t_part_reshaped_without_recording():
        v = leaf(2, 3).clone().unbind()[0]
        with torch.no_grad():
            v.squeeze_(0)
        v.add_(1)

    def t_function_reshaped_without_recording():
        v = Same.apply(leaf(2, 3).clone())
        with torch.no_grad():
            v.transpose_(0, 0)
        v.add_(1)

    def t_view_of_function_without_recording():
        x = leaf(2, 3).clone()
        with torch.no_grad():
            v = Same.apply(x)
        v.add_(1)

    def t_view_of_function_that_nothing_follows():
        Same.apply(torch.ones(2)).add_(leaf(1))

    def t_view_of_function_that_nothing_follows_copied():
        Same.apply(torch.ones(2)).copy_(leaf(1))

    def t_view_of_function_written():
        return Same.apply(torch.ones(2)).add_(1)

    def t_warned_each_time():
        x = leaf(2)
        torch.set_warn_always(True)
        try:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                for _ in range(2):
                    (x * x).sum().backward(create_graph=True)
            return len(seen)
        finally:
            torch.set_warn_always(False)

    def t_other_layout():
        torch.ones(1).data = torch.ones(1).to_sparse()

    def t_out_with_tangent():
        with fw.dual_level():
            torch.add(torch.ones(2), torch.ones(2), out=fw.make_dual(torch.ones(2), torch.ones(2)))

    def t_out_of_tangent():
        with fw.dual_level():
            torch.mul(fw.make_dual(torch.ones(2), torch.ones(2)), 2, out=torch.ones(2))

    def t_grad_mode_below():
        with torch.no_grad():
            inside = torch._C.is_grad_enabled()
        return torch._C.is_grad_enabled(), inside

    def twice(counts):
        class Pair(ag.Function):
            @staticmethod
            def forward(ctx, x, y):
                counts.append(
                    (x.requires_grad, y.requires_grad) if fw._current_level >= 0 else None
                )
                return x.clone(), y.clone()

            @staticmethod
            def jvp(ctx, dx, dy):
                counts.append("jvp")
                return dx, dy

        return Pair.apply

    def checked(**options):
        counts: list[Any] = []
        x, y = (torch.ones(1, dtype=torch.double, requires_grad=True) for _ in range(2))
        ag.gradcheck(
            twice(counts), (x, y), check_forward_ad=True, check_backward_ad=False, **options
        )
        return counts.count("jvp"), [c for c in counts if isinstance(c, tuple)]

    def t_forward_derivatives_once_for_all_results():
        return checked(check_undefined_grad=False)

    def t_forward_derivatives_with_undefined_ones():
        return checked()

    def t_forward_derivatives_in_batches():
        return checked(check_batched_forward_grad=True)[0]

    def t_batches_draw_nothing():
        class Draws(ag.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def jvp(ctx, t):
                torch.randn_like(t)
                return t * 2

        x = torch.ones(2, dtype=torch.double, requires_grad=True)
        try:
            ag.gradcheck(
                Draws.apply,
                (x,),
                check_forward_ad=True,
                check_backward_ad=False,
                check_batched_forward_grad=True,
            )
        except RuntimeError as error:
            return str(error).split("workaround")[0]

    def t_undefined_gradients_are_warned_of():
        def refuses(g):
            if g is None:
                raise RuntimeError("nothing came")

        def hooked(x):
            y = x.clone()
            y.register_hook(refuses)
            return y

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                ag.gradcheck(hooked, torch.ones(1, dtype=torch.double, requires_grad=True))
            except RuntimeError as error:
                return type(error).__name__, [str(w.message)[:70] for w in seen]

    def t_fast_mode_walks_twice():
        seen: list[int] = []

        class Drifts(ag.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, g):
                seen.append(1)
                return g * (1 + 1e-7 * len(seen))

        try:
            ag.gradcheck(
                Drifts.apply, torch.ones(3, dtype=torch.double, requires_grad=True), fast_mode=True
            )
        except RuntimeError as error:
            return str(error)[:60]

    def t_other_layouts_are_refused():
        x = torch.ones(2, dtype=torch.double, requires_grad=True)
        return ag.gradcheck(lambda x: x.to_sparse(), x)

    return {
        name.removeprefix("t_"): program
        for name, program in locals().items()
        if name.startswith("t_")
    }
