"""Programs about: ``autograd.Function``. See the package."""

from __future__ import annotations

import types
from typing import Any


def functions(torch: types.ModuleType) -> dict[str, Any]:
    """``autograd.Function``."""
    ag = torch.autograd
    fwAD = ag.forward_ad
    Function = ag.Function

    def x3(rg=True):
        return torch.tensor([1.0, 2.0, 3.0], requires_grad=rg)

    class Mul(Function):
        @staticmethod
        def forward(ctx, x, c):
            ctx.c = c
            ctx.save_for_backward(x)
            return x * c

        @staticmethod
        def backward(ctx, g):
            (_x,) = ctx.saved_tensors
            return g * ctx.c, None

    class Sq(Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

        @staticmethod
        def jvp(ctx, t):
            (x,) = ctx.saved_tensors
            return 2 * x * t

    def t_a1():
        x = x3()
        y = Mul.apply(x, 3.0)
        return (
            y,
            y.grad_fn.name(),
            type(y.grad_fn).__name__,
            y.grad_fn.next_functions,
            y.grad_fn.c,
            y.grad_fn.saved_tensors[0] is x,
            y.grad_fn.needs_input_grad,
        )

    def t_a2():
        x = x3()
        y = Mul.apply(x, 3.0)
        y.sum().backward()
        return x.grad

    def t_a3():
        x = x3()
        y = Mul.apply(x, 3.0)
        y.sum().backward()
        y.grad_fn.saved_tensors

    def t_a4():
        x = x3()
        y = Mul.apply(x, 3.0)
        y.sum().backward()
        y.sum().backward()

    def t_a5():
        return Mul.apply(x3(False), 3.0)

    def t_a6():
        return Mul()

    def t_a7():
        return Function.apply(x3())

    def t_a8():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

        F.apply(x3()).sum().backward()

    def t_a9():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2, x * 3

            @staticmethod
            def backward(ctx, a, b):
                return a * 2

        a, b = F.apply(x3())
        a.sum().backward()
        return a, b, type(F.apply(x3()))

    def t_a10():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(False)
                return x * 2, x * 3

            @staticmethod
            def backward(ctx, a, b):
                log.append((a, b))
                return a * 2

        log = []
        a, _b = F.apply(x3())
        a.sum().backward()
        return log

    def t_a11():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                r = x > 1
                ctx.mark_non_differentiable(r)
                return x * 2, r

            @staticmethod
            def backward(ctx, a, b):
                log.append((a, b))
                return a * 2

        log = []
        a, b = F.apply(x3())
        a.sum().backward()
        return log, b.requires_grad, b

    def t_a12():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                x.add_(1)
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx, a):
                return a * 2

        x = x3()
        y = x * 1
        z = F.apply(y)
        z.sum().backward()
        return z is y, x.grad, y.grad_fn, y._version

    def t_a13():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                x.add_(1)
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx, a):
                return a * 2

        F.apply(x3())

    def t_a14():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                x.add_(1)
                ctx.mark_dirty(x)
                return x * 1

            @staticmethod
            def backward(ctx, a):
                return a * 2

        F.apply(x3() * 1)

    def t_a15():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, a):
                return a * 2

        x = x3()
        y = F.apply(x)
        y.sum().backward()
        return y is x, x.grad, y

    def t_a16():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x.view(3, 1)

            @staticmethod
            def backward(ctx, a):
                return a.view(3)

        x = x3()
        y = F.apply(x)
        y.sum().backward()
        return y, x.grad, y._base is x, y.grad_fn

    def t_a17():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x.view(3, 1)

            @staticmethod
            def backward(ctx, a):
                return a.view(3)

        x = x3() * 1
        y = F.apply(x)
        y.add_(1)

    def t_a18():
        class F(Function):
            @staticmethod
            def forward(ctx, x, y):
                return x * y

            @staticmethod
            def backward(ctx, a):
                return a

        F.apply(x3(), x3()).sum().backward()

    def t_a19():
        class F(Function):
            @staticmethod
            def forward(ctx, x, y):
                return x * y

            @staticmethod
            def backward(ctx, a):
                return a, a

        F.apply(x3(), 2.0).sum().backward()

    def t_a20():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, a):
                return torch.ones(2)

        F.apply(x3()).sum().backward()

    def t_a21():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, a):
                return a, None, None

        x = x3()
        F.apply(x).sum().backward()
        return x.grad

    def t_a22():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, a):
                return a, 5

        x = x3()
        F.apply(x).sum().backward()
        return x.grad

    def t_a23():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, a):
                return 5

        x = x3()
        F.apply(x).sum().backward()
        return x.grad

    def t_a24():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(5)
                return x * 2

        F.apply(x3())

    def t_a25():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                r = x.exp()
                ctx.save_for_backward(r, None, x)
                return r

            @staticmethod
            def backward(ctx, g):
                r, _n, _x = ctx.saved_tensors
                return g * r

        x = x3()
        y = F.apply(x)
        (g,) = ag.grad(y.sum(), x, create_graph=True)
        (g2,) = ag.grad(g.sum(), x)
        return g, g2, y.grad_fn.saved_tensors[0] is y

    def t_a26():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                r = x.exp()
                ctx.save_for_backward(r)
                return r

            @staticmethod
            def backward(ctx, g):
                (r,) = ctx.saved_tensors
                return g * r

        x = x3()
        y = F.apply(x)
        y.add_(1)
        y.sum().backward()

    def t_a27():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx, g):
                (r,) = ctx.saved_tensors
                return g * r

        x = x3()
        a = x * 1
        y = F.apply(a)
        a.add_(1)
        y.sum().backward()

    def t_a28():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @ag.function.once_differentiable
            def backward(ctx, g):
                (r,) = ctx.saved_tensors
                return g * 2 * r

        x = x3()
        y = F.apply(x)
        (g,) = ag.grad(y.sum(), x, create_graph=True)
        return g.requires_grad, g.grad_fn

    def t_a29():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @ag.function.once_differentiable
            def backward(ctx, g):
                (r,) = ctx.saved_tensors
                return g * 2 * r

        x = x3()
        y = F.apply(x) ** 2
        (g,) = ag.grad(y.sum(), x, create_graph=True)
        ag.grad(g.sum(), x)

    def t_a30():
        return (
            ag.gradcheck(Sq.apply, (x3().double().detach().requires_grad_(),)),
            ag.gradgradcheck(Sq.apply, (x3().double().detach().requires_grad_(),)),
            ag.gradcheck(
                Sq.apply, (x3().double().detach().requires_grad_(),), check_forward_ad=True
            ),
        )

    def t_a31():
        return torch.func.grad(lambda x: Sq.apply(x).sum())(x3(False))

    def t_a32():
        return torch.func.vmap(Sq.apply)(x3(False))

    def t_a33():
        return torch.func.jvp(Sq.apply, (x3(False),), (torch.ones(3),))

    def t_a35():
        class S(Sq):
            generate_vmap_rule = True

        return torch.func.vmap(S.apply)(x3(False)), torch.func.vmap(torch.func.grad(S.apply))(
            x3(False)
        )

    def t_a36():
        class S(Sq):
            @staticmethod
            def vmap(info, in_dims, x):
                log.append((info.batch_size, info.randomness, in_dims))
                return Sq.apply(x), in_dims[0]

        log = []
        return torch.func.vmap(S.apply)(torch.ones(2, 3)), log

    def t_a37():
        class S(Sq):
            generate_vmap_rule = True

            @staticmethod
            def vmap(info, in_dims, x):
                return Sq.apply(x), in_dims[0]

        return torch.func.vmap(S.apply)(torch.ones(2, 3))

    def t_a38():
        with fwAD.dual_level():
            d = fwAD.make_dual(x3(False), torch.ones(3))
            return fwAD.unpack_dual(Sq.apply(d))

    def t_a39():
        with fwAD.dual_level():
            d = fwAD.make_dual(x3(False), torch.ones(3))
            return fwAD.unpack_dual(Mul.apply(d, 2.0))

    def t_a40():
        class F(Function):
            @staticmethod
            def forward(ctx, x, *, k=2):
                return x * k

        return F.apply(x3(), k=3)

    def t_a41():
        class F(Function):
            @staticmethod
            def forward(ctx, xs, d):
                return [x * 2 for x in xs], "hi", d

            @staticmethod
            def backward(ctx, *g):
                log.append(len(g))
                return None, None

        log = []
        return F.apply([x3(), x3()], {"a": 1})

    def t_a42():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2, "hi", None

            @staticmethod
            def backward(ctx, *g):
                log.append(g)
                return g[0]

        log = []
        r = F.apply(x3())
        r[0].sum().backward()
        return r, log

    def t_a43():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                log.append(torch.is_grad_enabled())
                return x * 2

            @staticmethod
            def backward(ctx, g):
                log.append(torch.is_grad_enabled())
                return g

        log = []
        x = x3()
        y = F.apply(x).sum()
        y.backward(retain_graph=True)
        ag.grad(y, x, create_graph=True)
        return log

    def t_a44():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def vjp(ctx, g):
                return g * 2

        x = x3()
        F.apply(x).sum().backward()
        return x.grad

    def t_a45():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def vjp(ctx, g):
                return g * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2

        x = x3()
        F.apply(x).sum().backward()
        return x.grad

    def t_a46():
        class F(Function):
            @staticmethod
            def forward(x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2

        x = x3()
        F.apply(x)

    def t_a47():
        x = x3()
        y = Mul.apply(x, 2.0)
        log = []
        y.grad_fn.register_hook(lambda gi, go: log.append((gi, go)))
        y.grad_fn.metadata["a"] = 3
        y.sum().backward()
        return log, y.grad_fn.metadata

    def t_a48():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.foo = 7
                ctx.save_for_backward(x)
                log.append(type(ctx).__name__)
                return x * 2

            @staticmethod
            def backward(ctx, g):
                log.append((ctx.foo, ctx.name(), len(ctx.next_functions), ctx.needs_input_grad))
                return g

        log = []
        F.apply(x3()).sum().backward()
        return log

    def t_a49():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.x = x
                return x.clone()

            @staticmethod
            def backward(ctx, g):
                return g.half()

        x = x3()
        F.apply(x).sum().backward()
        return x.grad

    def t_a50():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x.long()

            @staticmethod
            def backward(ctx, g):
                return g

        return F.apply(x3()).requires_grad

    def t_a51():
        class F(ag.function.InplaceFunction):
            @staticmethod
            def forward(ctx, x, inplace=False):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g, None

        x = x3()
        F.apply(x).sum().backward()
        return x.grad

    def t_a52():
        return Mul.apply.__name__, repr(Mul), Mul.__mro__.__len__() > 2, Mul._backward_cls

    def t_a53():
        class F(Function):
            @staticmethod
            def forward(ctx, a, b):
                return a + b

            @staticmethod
            def backward(ctx, g):
                return g.expand(2, 3), g

        a = torch.ones(3, requires_grad=True)
        b = torch.ones(3, requires_grad=True)
        F.apply(a, b).sum().backward()
        return a.grad

    def t_a54():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return x, x * 2

            @staticmethod
            def backward(ctx, g, h):
                return g + h

        x = x3()
        a, b = F.apply(x)
        return a.grad_fn is b.grad_fn, a.output_nr, b.output_nr

    def t_a55():
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                return None

            @staticmethod
            def backward(ctx, g):
                return g

        return F.apply(x3())

    def t_a56():
        with torch.no_grad():
            return Mul.apply(x3(), 2.0).requires_grad

    return {
        name.removeprefix("t_"): program
        for name, program in locals().items()
        if name.startswith("t_")
    }
