"""Programs about: forward mode, and ``func.jvp`` and ``jacfwd``. See the package."""

from __future__ import annotations

import types
from typing import Any


def forward(torch: types.ModuleType) -> dict[str, Any]:
    """Forward mode, and ``func.jvp`` and ``jacfwd``."""
    ag = torch.autograd
    fwAD = ag.forward_ad

    def one_():
        return torch.ones(3)

    def x3(rg=False):
        return torch.tensor([1.0, 2.0, 3.0], requires_grad=rg)

    def t_1():
        return fwAD.make_dual(x3(), one_())

    def t_2():
        with fwAD.dual_level(), fwAD.dual_level():
            pass

    def t_3():
        fwAD.exit_dual_level()

    def t_4():
        with fwAD.dual_level():
            return fwAD.make_dual(x3(), torch.ones(2))

    def t_5():
        with fwAD.dual_level():
            return fwAD.make_dual(x3(), torch.ones(3).double())

    def t_6():
        with fwAD.dual_level():
            return fwAD.make_dual(torch.ones(3, dtype=torch.long), one_())

    def t_7():
        with fwAD.dual_level():
            return fwAD.make_dual(x3(), torch.ones(3, dtype=torch.long))

    def t_8():
        with fwAD.dual_level():
            return fwAD.unpack_dual(x3())

    def t_9():
        return fwAD.unpack_dual(x3())

    def t_10():
        with fwAD.dual_level():
            d = fwAD.make_dual(x3(), one_())
            return d, repr(d * 2), (d > 1), (d * 2).long(), d.tolist(), float(d[0])

    def t_11():
        with fwAD.dual_level():
            d = fwAD.make_dual(x3(), one_())
            with torch.no_grad():
                y = d * 2
            return fwAD.unpack_dual(y)

    def t_12():
        with fwAD.dual_level():
            d = fwAD.make_dual(x3(), one_())
            e = fwAD.make_dual(d, one_())
            return fwAD.unpack_dual(e)

    def t_13():
        with fwAD.dual_level():
            d = fwAD.make_dual(x3(), one_())
            y = d * d
        return y, fwAD.unpack_dual(y)

    def t_14():
        with fwAD.dual_level():
            d = fwAD.make_dual(x3(), one_())
            b = torch.zeros(3)
            b.copy_(d)
            b[0] = 5.0
            return fwAD.unpack_dual(b)

    def t_15():
        with fwAD.dual_level():
            d = fwAD.make_dual(x3(), one_())
            v = d.view(3, 1)
            v.mul_(2)
            return fwAD.unpack_dual(d), fwAD.unpack_dual(v)

    def t_16():
        lin = torch.nn.Linear(3, 1)
        with torch.no_grad():
            lin.weight.fill_(2.0)
            lin.bias.fill_(1.0)
        ps = dict(lin.named_parameters())
        with fwAD.dual_level():
            for name, p in ps.items():
                delattr(lin, name)
                setattr(lin, name, fwAD.make_dual(p, torch.ones_like(p)))
            return fwAD.unpack_dual(lin(x3()))[1].detach()

    def t_17():
        with fwAD.dual_level():
            d = fwAD.make_dual(x3(), one_())
            return (
                fwAD.unpack_dual(d.clone()),
                fwAD.unpack_dual(torch.cat([d, x3()])),
                fwAD.unpack_dual(torch.stack([d, d], 1)),
                fwAD.unpack_dual(d[torch.tensor([0, 2])]),
                fwAD.unpack_dual(d.max(0)[0]),
            )

    def t_18():
        with fwAD.dual_level():
            d = fwAD.make_dual(x3(), one_())
            return type(fwAD.unpack_dual(d)).__name__, fwAD.unpack_dual(d).tangent

    def t_19():
        return (
            fwAD.enter_dual_level(),
            fwAD._current_level,
            fwAD.exit_dual_level(level=0),
            fwAD._current_level,
        )

    def t_20():
        with fwAD.dual_level():
            d = fwAD.make_dual(x3(True), one_())
            y = (d**3).sum()
            (g,) = ag.grad(y, d)
            return fwAD.unpack_dual(g)

    def t_21():
        with fwAD.dual_level():
            x = x3(True)
            d = fwAD.make_dual(x, one_())
            y = (d**3).sum()
            (g,) = ag.grad(y, x)
            return fwAD.unpack_dual(g)

    def t_22():
        return torch.func.jvp(torch.sin, (x3(),), (one_(),))

    def t_23():
        return torch.func.jvp(lambda x, y: (x * y, y), (x3(), x3()), (one_(), one_()))

    def t_24():
        return torch.func.jvp(torch.sin, x3(), one_())

    def t_25():
        return torch.func.jvp(torch.sin, (x3(),), (torch.ones(2),))

    def t_26():
        return torch.func.jvp(lambda x: (x.sum(), x * 2), (x3(),), (one_(),), has_aux=True)

    def t_27():
        return (
            torch.func.jacfwd(lambda x: x**2)(x3()),
            torch.func.jacfwd(torch.func.jacfwd(lambda x: (x**3).sum()))(x3()),
            torch.func.hessian(lambda x: (x**3).prod())(x3()),
        )

    def t_28():
        return torch.func.jvp(
            lambda x: torch.func.jvp(torch.sin, (x,), (one_(),))[1], (x3(),), (one_(),)
        )

    def t_29():
        return torch.func.jvp(torch.func.grad(lambda x: (x**3).sum()), (x3(),), (one_(),))

    def t_30():
        return torch.func.grad(
            lambda x: torch.func.jvp(lambda y: (y**3).sum(), (x,), (one_(),))[1]
        )(x3())

    def t_31():
        x = x3(True)
        y = torch.func.jvp(lambda y: y**3, (x,), (one_(),))[1]
        return ag.grad(y.sum(), x)

    def t_32():
        return torch.func.vmap(lambda t: torch.func.jvp(lambda y: y**3, (x3(),), (t,))[1])(
            torch.eye(3)
        )

    def t_33():
        return torch.func.jvp(
            lambda y: torch.func.vmap(lambda z: z**2 * y.sum())(y), (x3(),), (one_(),)
        )

    def t_34():
        return (torch.func.jvp(lambda y: torch.ones(3), (x3(),), (one_(),)),)

    def t_35():
        return torch.func.jvp(lambda y: torch.ones(3), (x3(),), (one_(),), strict=True)

    def t_36():
        return torch.func.jvp(lambda y: 5, (x3(),), (one_(),))

    def t_37():
        return torch.func.jvp(lambda y: y.detach() * y, (x3(),), (one_(),))

    def t_38():
        o, f = torch.func.linearize(lambda y: y**3, x3())
        return o, f(one_())

    def t_39():
        return torch.func.jvp(
            lambda y: y.abs() + y.relu() + y.clamp(0, 2) + torch.maximum(y, torch.zeros(3)),
            (torch.zeros(3),),
            (one_(),),
        )

    def t_40():
        with fwAD.dual_level():
            d = fwAD.make_dual(torch.tensor([1 + 1j]), torch.tensor([1j]))
            return (
                fwAD.unpack_dual(d * d),
                fwAD.unpack_dual(d.abs()),
                fwAD.unpack_dual(d.conj()),
                fwAD.unpack_dual(d.real),
            )

    def t_41():
        return ag.functional.jacobian(
            lambda x: x**2, x3(), strategy="forward-mode", vectorize=True
        ), ag.functional.hessian(
            lambda x: (x**3).sum(), x3(), outer_jacobian_strategy="forward-mode", vectorize=True
        ).detach()

    def t_42():
        with fwAD.dual_level():
            d = fwAD.make_dual(x3(), one_())
            return d.numpy(), d.requires_grad, d.is_leaf, d.dtype

    def t_43():
        with fwAD.dual_level():
            d = fwAD.make_dual(x3(), one_())
            a = d * 2
            a.zero_()
            return fwAD.unpack_dual(a)

    def t_45():
        return ag.gradcheck(
            lambda x: x * x,
            x3(True).double().detach().requires_grad_(),
            check_forward_ad=True,
            check_batched_forward_grad=True,
            check_batched_grad=True,
        )

    def t_46():
        return ag.gradgradcheck(
            lambda x: x * x * x,
            x3(True).double().detach().requires_grad_(),
            check_fwd_over_rev=True,
            check_batched_grad=True,
        )

    def t_47():
        with fwAD._set_fwd_grad_enabled(False), fwAD.dual_level():
            d = fwAD.make_dual(x3(), one_())
            return fwAD.unpack_dual(d)

    def t_48():
        return torch.func.jvp(lambda x: x.long(), (x3(),), (one_(),))

    def t_49():
        return torch.func.jvp(lambda x: x if x[0] > 0 else -x, (x3(),), (one_(),))

    return {
        name.removeprefix("t_"): program
        for name, program in locals().items()
        if name.startswith("t_")
    }
