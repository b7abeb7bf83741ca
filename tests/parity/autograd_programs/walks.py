"""Programs about: ``backward``, ``grad`` and what they refuse. See the package."""

from __future__ import annotations

import copy
import pickle
import types
from typing import Any


def walks(torch: types.ModuleType) -> dict[str, Any]:
    """``backward``, ``grad`` and what they refuse."""
    ag = torch.autograd

    def x3(rg=True):
        return torch.tensor([1.0, 2.0, 3.0], requires_grad=rg)

    def t_e1():
        x = x3()
        return (x * 2).backward()

    def t_e2():
        return torch.ones(1).backward()

    def t_e3():
        x = x3()
        y = (x * x).sum()
        y.backward()
        y.backward()

    def t_e4():
        x = x3()
        return ag.grad((x * 2).sum(), x3())

    def t_e5():
        x = x3()
        return ag.grad((x * 2).sum(), x3(False))

    def t_e6():
        x = x3()
        return ag.grad((x * 2).sum(), x3(), allow_unused=True)

    def t_e7():
        x = x3()
        return ag.grad((x * 2).sum(), [x, x3()], materialize_grads=True)

    def t_e8():
        x = x3()
        return ag.grad((x * 2).sum(), [x], materialize_grads=True, allow_unused=False)

    def t_e9():
        x = x3()
        return ag.backward([(x * 2).sum(), (x * 3).sum()], [torch.tensor(1.0)])

    def t_e10():
        x = x3()
        ag.backward([(x * 2).sum(), (x * 3).sum()])
        return x.grad

    def t_e11():
        x = x3()
        ag.backward((x * 2), torch.ones(2))

    def t_e12():
        x = x3()
        ag.backward((x * 2), 5)

    def t_e13():
        x = x3()
        ag.backward((x * 2), [5])

    def t_e14():
        x = x3()
        (x * 2).sum().backward(inputs=[])

    def t_e15():
        x = x3()
        y = x * 2
        y.sum().backward(inputs=[y])
        return y.grad, x.grad

    def t_e16():
        x = x3()
        y = x * 2
        y.sum().backward(inputs=x)
        return x.grad

    def t_e17():
        x = x3()
        y = x * 2
        (y.sum()).backward(inputs=[x3(False)])

    def t_e18():
        x = x3()
        y = x3()
        ((x * 2).sum()).backward(inputs=[y])
        return y.grad, x.grad

    def t_e19():
        x = x3()
        return ag.grad(x * 2, x, torch.eye(3), is_grads_batched=True)

    def t_e20():
        x = x3()
        return ag.grad(x * x, x, torch.eye(3), is_grads_batched=True, create_graph=True)[
            0
        ].requires_grad

    def t_e21():
        x = x3()
        return ag.grad(x * 2, x, torch.ones(3), is_grads_batched=True)

    def t_e22():
        x = x3()
        return ag.grad([x * 2, x * 3], [x], [torch.eye(3), torch.eye(3)], is_grads_batched=True)

    def t_e23():
        x = x3()
        return ag.grad([x * 2, (x * 3).sum()], [x], [torch.eye(3), None], is_grads_batched=True)

    def t_e24():
        x = x3()
        return ag.grad(x.sum().to(torch.complex64), x)

    def t_e25():
        x = x3()
        ag.backward((x * 2), torch.ones(3, dtype=torch.complex64))

    def t_e26():
        x = torch.tensor([1 + 2j], requires_grad=True)
        (x * x).backward()

    def t_e27():
        x = torch.tensor([1 + 2j], requires_grad=True)
        (x * x).backward(torch.ones(1))
        return x.grad

    def t_e28():
        x = torch.tensor([1 + 2j], requires_grad=True)
        (x * x).abs().backward()
        return x.grad

    def t_e29():
        x = x3()
        ag.grad((x * 2).sum(), x, only_inputs=False)

    def t_e30():
        x = x3()
        y = x.sum()
        y.backward(torch.tensor(2.0))
        return x.grad

    def t_e31():
        x = x3()
        y = x.sum()
        y.backward(gradient=torch.tensor(2.0), retain_graph=True, create_graph=False, inputs=None)
        return x.grad

    def t_e32():
        x = x3()
        (x > 1).float().sum().backward()

    def t_e33():
        x = x3()
        (x * 2).sum().backward(create_graph=True)
        return x.grad

    def t_e34():
        x = x3()
        y = x.exp()
        y.add_(1)
        y.sum().backward()

    def t_e35():
        x = x3()
        a = x * 1
        y = a * a
        a.add_(1)
        y.sum().backward()

    def t_e36():
        x = x3()
        x.add_(1)

    def t_e37():
        x = x3()
        x[0] = 1

    def t_e38():
        x = x3()
        x.view(3)[0].mul_(2)

    def t_e39():
        x = x3()
        with torch.no_grad():
            x.add_(1)
        return x, x._version

    def t_e41():
        x = x3()
        y = x * 1
        a = y.unbind(0)[0]
        y.mul_(2)
        return a.grad_fn

    def t_e42():
        x = x3()
        y = x * 1
        with torch.no_grad():
            v = y[0:1]
        v.mul_(2)

    def t_e43():
        x = x3()
        y = x * 1
        with torch.no_grad():
            v = y[0:1]
        y.mul_(2)
        return v.grad_fn

    def t_e44():
        x = x3()
        y = x * 2
        y.detach_()
        return y.requires_grad, y.is_leaf, y.grad_fn

    def t_e45():
        x = x3()
        y = x * 2
        v = y[0:1]
        v.detach_()

    def t_e46():
        x = x3()
        y = x * 2
        y.requires_grad_(False)

    def t_e47():
        x = torch.tensor([1])
        x.requires_grad_()

    def t_e48():
        torch.tensor([1], requires_grad=True)

    def t_e49():
        x = x3()
        y = x * 2
        y.grad
        return y.retains_grad, x.retains_grad

    def t_e50():
        x = x3(False)
        x.retain_grad()

    def t_e51():
        x = x3()
        x.retain_grad()
        return x.retains_grad

    def t_e52():
        x = x3()
        y = x * 2
        y.retain_grad()
        y.mul_(3)
        y.sum().backward()
        return y.grad, x.grad

    def t_e53():
        x = x3()
        y = x * 2
        y.retain_grad()
        y.sum().backward()
        return y.grad

    def t_e54():
        x = x3(False)
        x.register_hook(lambda g: g)

    def t_e55():
        x = x3()
        y = x * 2
        y.register_post_accumulate_grad_hook(lambda t: 0)

    def t_e56():
        x = x3()
        x.register_hook(lambda g: torch.ones(2))
        x.sum().backward()

    def t_e57():
        x = x3()
        x.register_hook(lambda g: 5)
        x.sum().backward()

    def t_e58():
        x = x3()
        x.register_hook(5)
        x.sum().backward()

    def t_e59():
        x = x3()
        x.register_hook(lambda g: g.double())
        x.sum().backward()
        return x.grad

    def t_e60():
        x = x3()
        y = x * 2

        def bad(g):
            raise ValueError("boo")

        y.register_hook(bad)
        y.sum().backward()

    def t_e61():
        x = x3()
        x.grad = torch.ones(3)
        g = x.grad
        x.sum().backward()
        return g is x.grad, g

    def t_e62():
        x = x3()
        x.grad = torch.ones(3)
        g = x.grad
        x.sum().backward(create_graph=True)
        return g is x.grad, g

    def t_e63():
        x = x3()
        x.grad = torch.ones(2)

    def t_e64():
        x = x3()
        x.grad = 5

    def t_e65():
        x = x3()
        return x._grad, x._grad_fn, x.grad_fn

    def t_e66():
        x = x3()
        x.sum().backward()
        return x._grad

    def t_e67():
        x = x3()
        y = x.sum()
        z = torch.autograd.grad(y, x, create_graph=True)[0]
        return z.requires_grad, z.grad_fn

    def t_e69():
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            x = torch.tensor([0.0], requires_grad=True)
            y = x.sqrt() * 0
            y.sum().backward()
            return x.grad

    def t_e70():
        return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()

    def t_e74():
        x = x3()
        torch.add(x, x, out=torch.empty(3))

    def t_e75():
        x = x3()
        y = x.clone()
        y.requires_grad = False

    def t_e76():
        x = x3()
        x.numpy()

    def t_e77():
        x = x3()
        return x.tolist(), float(x[0]), x.sum().item()

    def t_e78():
        x = x3()
        y = x.detach()
        y.add_(1)
        z = x * x
        y.add_(1)
        z.sum().backward()

    def t_e80():
        return ag.grad([], [])

    def t_e81():
        x = x3()
        return ag.grad(x.sum(), [])

    def t_e82():
        return ag.backward([])

    def t_e83():
        x = x3()
        y = (x * x).sum()
        (_g,) = ag.grad(y, x)
        y.backward()

    def t_e84():
        x = x3()
        y = (x * x).sum()
        (_g,) = ag.grad(y, x, retain_graph=True)
        y.backward()
        return x.grad

    def t_e85():
        x = x3()
        y = (x + x).sum()
        y.backward()
        y.backward()
        return x.grad

    def t_e86():
        x = x3()
        y = x.sum()
        ag.grad(y, x, grad_outputs=torch.tensor([1.0]))

    def t_e87():
        x = x3()
        return ag.grad(x.sum(), x, grad_outputs=torch.tensor(1.0, dtype=torch.float64))

    def t_e88():
        x = x3()
        return ag.grad(x, x, torch.ones(3))

    def t_e89():
        x = x3()
        x.backward(torch.ones(3))
        return x.grad

    def t_e90():
        x = torch.tensor(1.0, requires_grad=True)
        x.backward()
        return x.grad

    def t_e91():
        x = x3()
        x.sum().backward()
        a = x.grad
        x.sum().backward()
        return a is x.grad, a

    def t_e92():
        x = x3()
        y = x.view(3)
        y.grad_fn.next_functions
        return y.is_leaf, y._base is x, y._is_view(), x._is_view()

    def t_e93():
        x = x3()
        s = x.sum()
        s.backward(torch.ones(1))

    def t_e94():
        x = x3()
        y = x * 2
        return y.detach().grad_fn, y.data.requires_grad, y.detach().is_leaf

    def t_e95():
        x = x3()
        return copy(x) if False else x.clone().detach().requires_grad_().is_leaf

    def t_e96():
        x = x3()
        y = x * 2
        copy.deepcopy(y)

    def t_e97():
        x = x3()
        return pickle.loads(pickle.dumps(x)).requires_grad

    def t_e99():
        w = torch.ones(2, requires_grad=True)
        b = torch.ones(2, requires_grad=True)
        y = (w * b).sum()
        y.backward(inputs=[w])
        return w.grad, b.grad

    def t_f1():
        x = torch.ones(3, dtype=torch.float16, requires_grad=True)
        (x * x).sum().backward()
        return x.grad

    def t_f2():
        x = torch.ones(3, requires_grad=True)
        y = x.to(torch.bfloat16)
        (y * y).sum().backward()
        return x.grad

    def t_f3():
        z = torch.tensor([1 + 1j, 2 - 1j], requires_grad=True)
        (z.real**2 + z.imag).sum().backward()
        return z.grad

    def t_f4():
        z = torch.tensor([1 + 1j, 2 - 1j], requires_grad=True)
        (g,) = ag.grad((z * z.conj()).real.sum(), z, create_graph=True)
        (g2,) = ag.grad(g.abs().sum(), z)
        return g, g2

    def t_f5():
        z = torch.tensor([1.0, 2.0], requires_grad=True)
        y = torch.view_as_real(z * (1 + 2j))
        y.sum().backward()
        return z.grad

    def t_f6():
        with torch.no_grad():

            @torch.enable_grad()
            def f(x):
                return x * 2

            return f(x3()).requires_grad

    def t_f7():
        x = x3()
        y = x * 2
        z = y.sum()
        del y
        z.backward()
        return x.grad

    def t_f8():
        x = x3()

        def f():
            raise KeyError("a")

        class F(ag.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                raise KeyError("a")

        F.apply(x).sum().backward()

    def t_f9():
        x = x3()
        x.grad = torch.ones(3)
        x.grad = None
        return x.grad

    def t_f11():
        b = torch.zeros(3)
        x = x3()
        b[0:2].copy_(x[:2] * 2)
        return b.requires_grad, b.grad_fn, b.is_leaf

    def t_f13():
        x = x3()
        x.backward()

    def t_f14():
        x = x3()
        y = x.sum()
        return torch.autograd.grad(y, x, allow_unused=True, retain_graph=True), y._backward_hooks

    def t_f15():
        x = x3()
        return ag.grad((x * 2,), x)

    def t_f16():
        x = x3()
        return ag.grad("a", x)

    def t_f17():
        x3()
        return ag.backward("a")

    def t_f18():
        x = x3()
        return ag.backward(x.sum(), grad_variables=torch.tensor(3.0)), x.grad

    def t_f19():
        x = x3()
        return ag.backward(
            x.sum(), grad_tensors=torch.tensor(3.0), grad_variables=torch.tensor(3.0)
        ), x.grad

    return {
        name.removeprefix("t_"): program
        for name, program in locals().items()
        if name.startswith("t_")
    }
