"""Programs about: nodes, hooks and gradient edges. See the package."""

from __future__ import annotations

import types
from typing import Any


def hooks(torch: types.ModuleType) -> dict[str, Any]:
    """Nodes, hooks and gradient edges."""
    ag = torch.autograd

    def x3(rg=True):
        return torch.tensor([1.0, 2.0, 3.0], requires_grad=rg)

    def t_leaf_next():
        x = x3()
        y = x * 2
        return (
            y.grad_fn.next_functions,
            type(y.grad_fn.next_functions[0][0]).__name__,
            y.grad_fn.next_functions[0][0].name(),
            y.grad_fn.next_functions[0][0].variable is x,
            y.grad_fn.next_functions[0][0] is y.grad_fn.next_functions[0][0],
            (x * 3).grad_fn.next_functions[0][0] is y.grad_fn.next_functions[0][0],
        )

    def t_next_nums():
        x = x3()
        a, b = x.split([1, 2])
        y = a.sum() + b.sum()
        return (
            [(n.name(), i) for n, i in y.grad_fn.next_functions],
            a.output_nr,
            b.output_nr,
            y.grad_fn.next_functions[1][0].next_functions[0][1],
        )

    def t_next_scalar():
        x = x3()
        layer = torch.nn.Linear(3, 2)
        linear = layer(x.sin().view(1, 3)).grad_fn
        return (
            (x * 2).grad_fn.next_functions,
            (2 * x).grad_fn.next_functions[0][0].variable is x,
            [n and n.name() for n, _ in linear.next_functions][:2],
            linear.next_functions[0][0].variable is layer.bias,
            [n and n.name() for n, _ in (1 + x.sin()).grad_fn.next_functions],
            (x * x3(False)).grad_fn.next_functions,
            (x3(False) * x).grad_fn.next_functions,
            torch.where(x > 1, x, x3(False)).grad_fn.next_functions,
            (x**2).grad_fn.next_functions,
            torch.addcmul(x3(False), x, x).grad_fn.next_functions,
        )

    def t_meta():
        x = x3()
        y = x * 2
        y.grad_fn.metadata["a"] = 1
        return y.grad_fn.metadata, y.grad_fn is y.grad_fn

    def t_metaleaf():
        x = x3()
        y = x * 2
        n = y.grad_fn.next_functions[0][0]
        n.metadata["k"] = 2
        return y.grad_fn.next_functions[0][0].metadata

    def t_saved():
        x = x3()
        y = x * x
        f = y.grad_fn
        return (
            f._saved_self is x,
            f._saved_other,
            (x.exp()).grad_fn._saved_result,
            (x**2).grad_fn._saved_exponent,
            x.sum(0).grad_fn._saved_dim if False else 0,
        )

    def t_seq():
        x = x3()
        y = x * 2
        z = y * 2
        return z.grad_fn._sequence_nr() > y.grad_fn._sequence_nr()

    def t_hook():
        x = x3()
        y = x * 2
        z = y.sum()
        log = []
        h = y.grad_fn.register_hook(lambda gi, go: log.append((gi, go)))
        z.backward()
        return log, x.grad, type(h).__name__

    def t_hook_replace():
        x = x3()
        y = x * 2
        z = y.sum()
        y.grad_fn.register_hook(lambda gi, go: (gi[0] * 10,) + gi[1:])
        z.backward()
        return x.grad

    def t_hook_bad():
        x = x3()
        y = x * 2
        z = y.sum()
        y.grad_fn.register_hook(lambda gi, go: (gi[0] * 10,))
        z.backward()
        return x.grad

    def t_hook_bad2():
        x = x3()
        y = x * x
        z = y.sum()
        y.grad_fn.register_hook(lambda gi, go: 5)
        z.backward()
        return x.grad

    def t_hook_bad3():
        x = x3()
        y = x * x
        z = y.sum()
        y.grad_fn.register_hook(lambda gi, go: (torch.ones(2), gi[1]))
        z.backward()
        return x.grad

    def t_prehook():
        x = x3()
        y = x * 2
        z = y.sum()
        log = []
        y.grad_fn.register_prehook(log.append)
        z.backward()
        return log

    def t_prehook_rep():
        x = x3()
        y = x * 2
        z = y.sum()
        y.grad_fn.register_prehook(lambda go: (go[0] * 3,))
        z.backward()
        return x.grad

    def t_prehook_bad():
        x = x3()
        y = x * 2
        z = y.sum()
        y.grad_fn.register_prehook(lambda go: go[0] * 3)
        z.backward()
        return x.grad

    def t_prehook_bad2():
        x = x3()
        y = x * 2
        z = y.sum()
        y.grad_fn.register_prehook(lambda go: ())
        z.backward()
        return x.grad

    def t_hook_remove():
        x = x3()
        y = x * 2
        z = y.sum()
        log = []
        h = y.grad_fn.register_hook(lambda gi, go: log.append(1))
        h.remove()
        z.backward()
        return log

    def t_hook_acc():
        x = x3()
        y = x * 2
        n = y.grad_fn.next_functions[0][0]
        log = []
        n.register_hook(lambda gi, go: log.append((gi, go, x.grad)))
        n.register_prehook(lambda go: log.append(("pre", go, x.grad)))
        y.sum().backward()
        return log

    def t_hook_acc_rep():
        x = x3()
        y = x * 2
        n = y.grad_fn.next_functions[0][0]
        n.register_prehook(lambda go: (go[0] * 7,))
        y.sum().backward()
        return x.grad

    def t_order():
        x = x3()
        y = x * 2
        log = []
        y.grad_fn.register_prehook(lambda go: log.append("fnpre"))
        y.register_hook(lambda g: log.append("tensor"))
        y.retain_grad()
        y.register_hook(lambda g: (log.append("tensor2"), g * 2)[1])
        y.grad_fn.register_hook(lambda gi, go: log.append(("post", go[0])))
        x.register_hook(lambda g: log.append("xhook"))
        x.register_post_accumulate_grad_hook(lambda t: log.append("postacc"))
        y.sum().backward()
        return log, y.grad, x.grad

    def t_retain_order():
        x = x3()
        y = x * 2
        y.register_hook(lambda g: g * 2)
        y.retain_grad()
        y.register_hook(lambda g: g * 3)
        y.sum().backward()
        return y.grad, x.grad

    def t_hook_unbind():
        x = x3()
        a, b, _c = x.unbind(0)
        log = []
        a.grad_fn.register_hook(lambda gi, go: log.append((gi, go)))
        a.grad_fn.register_prehook(log.append)
        b.backward()
        return log

    def t_hook_capture():
        x = x3()
        y = x * 2
        log = []
        y.grad_fn.register_hook(lambda gi, go: log.append("post"))
        y.grad_fn.register_prehook(lambda go: log.append("pre"))
        y.register_hook(lambda g: (log.append("t"), g * 5)[1])
        g = ag.grad(y.sum(), y)
        return log, g

    def t_hook_capture_leaf():
        x = x3()
        log = []
        x.register_hook(lambda g: (log.append("t"), g * 5)[1])
        x.register_post_accumulate_grad_hook(lambda t: log.append("p"))
        g = ag.grad((x * 2).sum(), x)
        return log, g

    def t_hook_cg():
        x = x3()
        y = x * x
        log = []
        y.grad_fn.register_hook(lambda gi, go: log.append([g.requires_grad for g in gi]))
        y.grad_fn.register_prehook(lambda go: log.append(torch.is_grad_enabled()))
        (g,) = ag.grad(y.sum(), x, create_graph=True)
        return log, g

    def t_edge():
        x = x3()
        y = x * 2
        e = ag.graph.get_gradient_edge(y)
        f = ag.graph.get_gradient_edge(x)
        return (
            type(e).__name__,
            e.node is y.grad_fn,
            e.output_nr,
            f.node.name(),
            f.output_nr,
            len(e),
            e._fields,
        )

    def t_edge_err():
        return ag.graph.get_gradient_edge(torch.ones(2))

    def t_edge_grad():
        x = x3()
        y = x * 2
        z = (y * y).sum()
        e = ag.graph.get_gradient_edge(y)
        return ag.grad(z, e)

    def t_edge_grad2():
        x = x3()
        y = x * 2
        z = (y * y).sum()
        e = ag.graph.get_gradient_edge(z)
        return ag.grad(e, x, torch.tensor(1.0))

    def t_edge_grad3():
        x = x3()
        y = x * 2
        z = (y * y).sum()
        e = ag.graph.get_gradient_edge(z)
        return ag.grad(e, x)

    def t_edge_bw():
        x = x3()
        y = x * 2
        z = (y * y).sum()
        e = ag.graph.get_gradient_edge(z)
        ag.backward(e, torch.tensor(1.0))
        return x.grad

    def t_edge_bw_in():
        x = x3()
        y = x * 2
        z = (y * y).sum()
        e = ag.graph.get_gradient_edge(x)
        ag.backward(z, inputs=[e])
        return x.grad

    def t_edge_bw_in2():
        x = x3()
        y = x * 2
        z = (y * y).sum()
        e = ag.graph.get_gradient_edge(y)
        ag.backward(z, inputs=[e])
        return x.grad

    def t_multi():
        x = x3()
        y = x3()
        log = []
        h = ag.graph.register_multi_grad_hook((x, y), log.append)
        (x * 2 + y).sum().backward()
        (x * 2).sum().backward()
        h.remove()
        (x + y).sum().backward()
        return log

    def t_multi_any():
        x = x3()
        y = x3()
        log = []
        ag.graph.register_multi_grad_hook((x, y), log.append, mode="any")
        (x * 2 + y).sum().backward()
        return log

    def t_multi_bad():
        x = x3()
        return ag.graph.register_multi_grad_hook((x,), lambda g: 0, mode="foo")

    def t_multi_nonleaf():
        x = x3()
        a = x * 2
        b = x * 3
        log = []
        ag.graph.register_multi_grad_hook((a, b), log.append)
        (a.sum() + b.sum()).backward()
        return log

    def t_multi_norg():
        return ag.graph.register_multi_grad_hook((torch.ones(1),), lambda g: 0)

    def t_ag_dir():
        return sorted(a for a in ag.__all__)

    def t_swap():
        x = x3()
        with ag.graph.allow_mutation_on_saved_tensors():
            y = x * 1
            z = y * y
            y.add_(1)
            z.sum().backward()
        return x.grad

    def t_incr():
        x = torch.ones(2)
        ag.graph.increment_version(x)
        return x._version

    def t_set_mt():
        with ag.set_multithreading_enabled(False):
            pass
        return 1

    def t_inplace_hook():
        x = x3()
        y = x * 2
        log = []
        y.register_hook(log.append)
        y.mul_(3)
        y.register_hook(lambda g: log.append(("b", g)))
        y.sum().backward()
        return log

    def t_hooks_aside():
        """Of a walk to some ends, hooks on other ways are not run, and ``retain_grad`` there adds
        nothing."""
        x, w, log = x3(), x3(), []
        y = x * 2
        y.register_hook(lambda g: log.append("y"))
        y.grad_fn.register_hook(lambda gi, go: log.append((gi, go)))
        y.retain_grad()
        v = w * y
        v.grad_fn.register_hook(lambda gi, go: log.append((gi, go)))
        loss = v.sum() + y.sum()
        first = ag.grad(loss, w, retain_graph=True)
        aside = [*log]
        return first, aside, y.grad, ag.grad(loss, v), log, y.grad

    def t_hooks_wanted():
        """What is wanted of a node that runs are the gradients before hooks; ``backward`` runs the
        nodes of its inputs."""
        x, log = x3(), []
        a, b = (x * 2).split(2) if len(x) > 2 else (x * 2, x * 3)
        a.register_hook(lambda g: g * 5)
        alone = ag.grad((a * a).sum(), a, retain_graph=True)
        both = ag.grad((a * a).sum(), (a, x), retain_graph=True)
        c = b.exp()
        c.grad_fn.register_prehook(log.append)
        c.grad_fn.register_hook(lambda gi, go: log.append((gi, go)))
        c.sum().backward(inputs=[c])
        try:
            c.sum().backward()
        except RuntimeError as e:
            log.append(str(e)[:40])
        return alone, both, c.grad, x.grad, log

    def t_hooks_counted():
        """A hook of several tensors waits for none that the walk does not come to; other results of
        a wanted node get their gradients."""
        x, w, log = x3(), x3(), []
        a, b = x * 2, w * 3
        ag.graph.register_multi_grad_hook((a, b), log.append)
        loss = (a + b).sum()
        ag.grad(loss, x, retain_graph=True)
        ag.grad(loss, a, retain_graph=True)
        loss.backward(inputs=[b], retain_graph=True)
        first, second = (x * w).split([1, 2])
        first.register_hook(log.append)
        ag.grad((first * 2).sum() + second.sum(), second)
        return log

    def t_hooks_checkpoint():
        """A checkpoint that does not stop early may hold backward passes of its own."""
        x = x3()

        def inner(x):
            (ga,) = ag.grad(x.sin().exp().sum(), x)
            (gb,) = ag.grad(x.exp().sin().sum(), x)
            return x.sin() * ga * gb

        with torch.utils.checkpoint.set_checkpoint_early_stop(False):
            torch.utils.checkpoint.checkpoint(inner, x, use_reentrant=False).sum().backward()
        return x.grad

    def t_hooks_met():
        """A walk that goes on with tensors of another class has run the hooks of the node where it
        found out."""

        class Wrapped(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
                made.inner = inner
                return made

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                inner = [a.inner if isinstance(a, Wrapped) else a for a in args]
                return Wrapped(func(*inner, **(kwargs or {})))

        class Unwrapping(ag.Function):
            @staticmethod
            def forward(ctx, w):
                return w.inner * 1

            @staticmethod
            def backward(ctx, g):
                return Wrapped(g)

        log = []
        w = Wrapped(torch.ones(2)).requires_grad_()
        out = Unwrapping.apply(w * 2)
        out.register_hook(lambda g: (log.append("out"), g * 3)[1])
        out.grad_fn.register_prehook(lambda go: log.append("node"))
        (out * 2).sum().backward()
        return log, w.grad.inner

    return {
        name.removeprefix("t_"): program
        for name, program in locals().items()
        if name.startswith("t_")
    }
