"""Programs about: ``gradcheck`` and ``gradgradcheck``. See the package."""

from __future__ import annotations

import itertools
import types
from typing import Any


def checks(torch: types.ModuleType) -> dict[str, Any]:
    """``gradcheck`` and ``gradgradcheck``."""
    ag = torch.autograd
    gradcheck = ag.gradcheck
    gradgradcheck = ag.gradgradcheck

    def d3(rg=True):
        return torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=rg)

    def z2():
        return torch.tensor([1 + 1j, 2 - 1j], dtype=torch.complex128, requires_grad=True)

    def mk(bw, fw=lambda x: x * 2, save=True, jvp=None):
        class F(ag.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return fw(x)

            @staticmethod
            def backward(ctx, g):
                return bw(ctx, g)

        if jvp:
            F.jvp = staticmethod(jvp)
        return F.apply

    def t_1():
        return gradcheck(mk(lambda c, g: g * 3), d3())

    def t_2():
        return gradcheck(mk(lambda c, g: g * 3), d3(), raise_exception=False)

    def t_4():
        return gradcheck(mk(lambda c, g: torch.ones_like(g) * 2), d3())

    def t_6():
        return gradcheck(lambda x: x * 2, d3(False))

    def t_7():
        return gradcheck(lambda x: x * 2, d3().float().detach().requires_grad_())

    def t_8():
        return gradcheck(lambda x: x.detach() * 2, d3())

    def t_9():
        return gradcheck(lambda x: torch.ones(3), d3())

    def t_10():
        return gradcheck(lambda x: x.long(), d3())

    def t_11():
        return gradcheck(lambda x, y: (x * y, x.sum()), (d3(), d3()))

    def t_12():
        c = itertools.count()
        return gradcheck(mk(lambda cc, g: g * 2 + 1e-3 * next(c) * g), d3(), atol=1, nondet_tol=0.0)

    def t_13():
        c = itertools.count()
        return gradcheck(mk(lambda cc, g: g * 2 + 1e-9 * next(c) * g), d3(), nondet_tol=1e-3)

    def t_14():
        return gradcheck(lambda x: x * x.conj(), z2())

    def t_15():
        return gradcheck(mk(lambda c, g: g, fw=lambda x: x * 1j), z2())

    def t_16():
        return gradcheck(lambda x: x.abs(), z2())

    def t_17():
        return gradcheck(mk(lambda c, g: g.real if g.is_complex() else g, fw=lambda x: x * 2), z2())

    def t_18():
        return gradcheck(lambda x: x * 2, d3().expand(2, 3))

    def t_19():
        return gradcheck(
            lambda x: x * 2, torch.ones(1, dtype=torch.float64, requires_grad=True).expand(3)
        )

    def t_20():
        return gradcheck(lambda x: x * 2, d3(), check_backward_ad=False)

    def t_21():
        return gradcheck(
            lambda x: x * 2,
            d3(),
            check_batched_grad=True,
            check_backward_ad=False,
            check_forward_ad=True,
        )

    def t_22():
        return gradcheck(lambda x: x * 2, d3(), check_batched_forward_grad=True)

    def t_23():
        return gradcheck(
            mk(lambda c, g: g * 2, jvp=lambda c, t: t * 3), d3(), check_forward_ad=True
        )

    def t_24():
        return gradcheck(
            mk(lambda c, g: g * 2, jvp=lambda c, t: t * 2), d3(), check_forward_ad=True
        )

    def t_25():
        return gradcheck(mk(lambda c, g: g * 2), d3(), check_forward_ad=True)

    def t_26():
        return gradcheck(mk(lambda c, g: (g * 2).float()), d3())

    def t_27():
        return gradcheck(mk(lambda c, g: None), d3())

    def t_28():
        return gradcheck(lambda x: [x * 2, "a"], d3())

    def t_29():
        return gradcheck(lambda x: "a", d3())

    def t_30():
        return gradcheck(lambda x: x.to(torch.float32), d3(), check_grad_dtypes=True)

    def t_31():
        class F(ag.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(False)
                return x * 2, x * 3

            @staticmethod
            def backward(ctx, a, b):
                return a * 2 + b * 3

        return gradcheck(F.apply, d3())

    def t_32():
        class F(ag.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(False)
                return x * 2

            @staticmethod
            def backward(ctx, a):
                return a * 2

        return gradcheck(F.apply, d3())

    def t_34():
        return gradgradcheck(mk(lambda c, g: g * 2 * c.saved_tensors[0], fw=lambda x: x * x), d3())

    def t_35():
        return gradgradcheck(
            lambda x: x**3,
            d3(),
            grad_outputs=torch.ones(3, dtype=torch.float64, requires_grad=True),
        )

    def t_36():
        return gradgradcheck(lambda x: x**3, d3(), gen_non_contig_grad_outputs=True)

    def t_37():
        return gradgradcheck(
            lambda x: x**3, d3(), check_fwd_over_rev=True, check_rev_over_rev=False
        )

    def t_38():
        return gradgradcheck(
            lambda x: x**3, d3(), check_fwd_over_rev=False, check_rev_over_rev=False
        )

    def t_39():
        return gradgradcheck(lambda x: x * 2, d3())

    def t_39b():
        kinds = set()

        def f(weight, x):
            kinds.add((type(weight).__name__, weight.is_leaf, type(x).__name__, x.is_leaf))
            return weight * x**2

        weight = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
        return gradgradcheck(f, (weight, d3())), sorted(kinds)

    def t_39c():
        class Keeping(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))

            def forward(self, weight):
                self.weight = weight  # refuses what is no parameter
                return sum((p**3).sum() for p in self.parameters())

        return gradgradcheck(
            Keeping(), (torch.nn.Parameter(torch.full((3,), 2.0, dtype=torch.float64)),)
        )

    def t_40():
        return gradcheck(lambda x: x * 2, (d3(), 5))

    def t_41():
        return gradcheck(lambda x, n: x * n, (d3(), 5))

    def t_42():
        return gradcheck(lambda x: x * 2, d3(), masked=True)

    def t_43():
        return gradcheck(
            lambda x: x.sum() * 2, torch.ones(0, dtype=torch.float64, requires_grad=True)
        )

    def t_44():
        return gradcheck(
            lambda x: x.clone(),
            torch.tensor(1.0, dtype=torch.float64, requires_grad=True),
            check_batched_grad=True,
        )

    def t_45():
        return gradcheck(
            lambda x: (x * 2).t_() if x.dim() == 2 else x * 2,
            d3(),
            fast_mode=True,
            check_forward_ad=True,
            check_batched_grad=True,
            check_batched_forward_grad=True,
        )

    def t_46():
        return gradcheck(lambda z: z * z, z2(), fast_mode=True, check_forward_ad=True)

    def t_48():
        return issubclass(
            ag.gradcheck.__globals__["GradcheckError"]
            if hasattr(ag.gradcheck, "__globals__")
            else RuntimeError,
            RuntimeError,
        )

    def t_49():
        return gradcheck(lambda x: x.view(3), d3()), gradcheck(lambda x: x, d3())

    def t_50():
        def f(x):
            x = x * 1
            x.mul_(2)
            return x

        return gradcheck(f, d3())

    def t_52():
        return gradcheck(
            lambda x: x.relu(), torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
        )

    return {
        name.removeprefix("t_"): program
        for name, program in locals().items()
        if name.startswith("t_")
    }
