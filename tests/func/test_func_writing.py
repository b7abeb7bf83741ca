"""What a transformed function writes, looks at and draws: its arguments are the caller's, and so is
the order of random numbers."""

import pytest

import jtorch as torch
from jtorch.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap


def test_what_vmap_writes_into_its_arguments_is_written():
    x, y = torch.rand(3, 4, 5), torch.rand(5, 3, 4)
    before = x.clone()
    found = vmap(torch.Tensor.atan2_, (2, 0))(x, y)
    torch.testing.assert_close(x, torch.atan2(before, y.movedim(0, 2)))
    assert found.data_ptr() == x.data_ptr()  # an argument that comes back is a view of the caller's
    x.zero_()
    assert not found.any()


def test_nested_vmaps_write_too():
    x = torch.arange(24.0).reshape(2, 3, 4)
    before = x.clone()
    vmap(vmap(lambda a: a[::2].mul_(-1), 1), 0)(x)
    before[:, ::2] *= -1
    assert torch.equal(x, before)


def test_jvp_writes_values_and_tangents():
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0])
    jvp(lambda a: a.mul_(a), (x,), (t,))
    assert x.tolist() == [1.0, 4.0] and t.tolist() == [2.0, 40.0]


def test_jvp_under_vmap_writes_through_views():
    def write(a, b):
        part = a[:, ::2]
        part.copy_(b)
        return part, a

    x, xt = torch.rand(2, 6, 3), torch.rand(2, 6, 3)
    y, yt = torch.rand(2, 3, 3), torch.rand(2, 3, 3)
    wanted, wanted_t = x.movedim(2, 0).clone(), xt.movedim(2, 0).clone()
    wanted[:, :, ::2], wanted_t[:, :, ::2] = y.movedim(1, 0), yt.movedim(1, 0)
    out, tangent = vmap(lambda x, xt, y, yt: jvp(write, (x, y), (xt, yt)), (2, 2, 1, 1))(
        x, xt, y, yt
    )
    assert torch.equal(out[1], wanted) and torch.equal(tangent[1], wanted_t)
    assert torch.equal(tangent[0], yt.movedim(1, 0)) and torch.equal(x.movedim(2, 0), wanted)


@pytest.mark.parametrize(
    "look",
    [
        lambda a: a.movedim(0, 1),
        lambda a: a[1:, :2],
        lambda a: a.unbind(1)[2],
        lambda a: a.unfold(1, 2, 1),
        lambda a: a.unsqueeze(0).expand(2, 3, 4),
        lambda a: a.diagonal()[::2],
    ],
)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_views_of_arguments_are_views_of_the_callers(look, dim):
    x = (
        torch.arange(60.0)
        .reshape(5, 3, 4)
        .movedim(0, dim)
        .clone(memory_format=torch.contiguous_format)
    )
    found = vmap(look, dim)(x)
    assert found._base is x
    one_by_one = [look(e) for e in x.unbind(dim)]
    assert (
        torch.equal(found, torch.stack(one_by_one)) and found.stride()[1:] == one_by_one[0].stride()
    )
    x.add_(1)
    assert torch.equal(found, torch.stack([look(e) for e in x.unbind(dim)]))


@pytest.mark.parametrize(
    "look", [lambda a: a[None], lambda a: a[1:], lambda a: a.view(2, 2), torch.real, torch.imag]
)
def test_views_of_parts_of_memory_in_two_vmaps(look):
    x = torch.arange(120.0).reshape(5, 3, 2, 4)
    x = torch.complex(x, -x)
    part = x[2, 1:]
    found = vmap(vmap(look))(part)
    one_by_one = torch.stack([torch.stack([look(e) for e in row]) for row in part])
    assert torch.equal(found, one_by_one)
    assert (
        found.storage_offset() == look(part[0, 0]).storage_offset()
        and found.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    )
    found.zero_()
    assert (
        not torch.stack([torch.stack([look(e) for e in row]) for row in part]).any()
        and x[:2].any()
        and x[3:].any()
    )


@pytest.mark.parametrize(
    "look",
    [
        lambda a: a.mH,
        lambda a: a.transpose(0, 1).conj(),
        lambda a: a[1:].real,
        lambda a: torch.view_as_real(a.t()),
    ],
)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_chains_of_views_that_change_numbers(look, dim):
    x = torch.arange(48.0).reshape(4, 3, 4)
    x = torch.complex(x, 1 - x)
    assert x.sum() != 0  # it has been computed, so that its parts can be looked up in memory
    one_by_one = [look(e) for e in x.unbind(dim)]
    found = vmap(look, dim)(x)
    assert (
        torch.equal(found, torch.stack(one_by_one)) and found.stride()[1:] == one_by_one[0].stride()
    )
    found.mul_(3)
    assert torch.equal(found, torch.stack([look(e) for e in x.unbind(dim)]))


def test_parts_of_windows_are_written():
    x, y = torch.ones(2, 4, 3, dtype=torch.complex64)
    vmap(lambda t: t.unfold(0, 2, 1)[1:2].real, 1)(x).zero_()
    y.unfold(0, 2, 1)[1:2].real.zero_()
    assert torch.equal(x, y) and not x.real[1:3].any()


def test_parts_of_complex_arguments_are_views():
    z = torch.rand(3, 4, dtype=torch.complex64)
    found = vmap(torch.imag, 1)(z)
    found.zero_()
    assert not z.imag.any() and z.real.any()


def test_examples_have_the_strides_of_their_memory():
    seen = []
    vmap(lambda a: seen.append((a.stride(), a.is_contiguous())) or a * 1, 1)(torch.zeros(2, 3, 5))
    assert seen == [((15, 1), False)]
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        vmap(lambda a: a.view(10), 1)(torch.zeros(2, 3, 5))
    with pytest.raises(NotImplementedError, match="memory of one example"):
        vmap(lambda a: a.as_strided((2,), (2,)) * 1, 1)(torch.zeros(2, 3, 5))


def test_chunks_draw_the_same_numbers():
    found = vmap(lambda a: a * 0 + torch.rand(()), randomness="same", chunk_size=2)(torch.zeros(5))
    assert found.unique().numel() == 1


@pytest.mark.parametrize(
    "draw",
    [
        lambda a: torch.randn(2, out=a),
        lambda a: torch.normal(a, a, out=a),
        lambda a: torch.bernoulli(a, out=a),
        lambda a: torch.multinomial(a, 1, out=torch.zeros(1, dtype=torch.int64)),
    ],
)
def test_no_random_numbers_into_given_tensors(draw):
    shared = torch.full((2,), 0.5)
    with pytest.raises(RuntimeError, match="calling out variants of random operations"):
        vmap(lambda _: draw(shared), randomness="same")(torch.zeros(3))


def test_no_rrelu():
    with pytest.raises(RuntimeError, match="do not yet support aten::rrelu"):
        vmap(torch.rrelu, randomness="same")(torch.zeros(3))


@pytest.mark.parametrize(
    "of",
    [
        lambda a: torch.normal(a, 1.0),
        lambda a: torch.normal(0.0, a),
        lambda a: torch.bernoulli(a, 0.5),
    ],
)
def test_same_numbers_for_examples_that_differ_are_refused(of):
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
        vmap(of, randomness="same")(torch.ones(3, 2))


def test_probabilities_of_all_examples_for_one_tensor_are_refused():
    shared = torch.zeros(2)
    with pytest.raises(RuntimeError, match=r"inplace bernoulli.*more elements than `self`"):
        vmap(shared.bernoulli_, randomness="different")(torch.ones(3, 2))


def test_different_numbers_for_a_shared_tensor():
    shared = torch.zeros(2, 3)
    for like in (torch.rand_like, torch.randn_like, lambda t: torch.randint_like(t, 1000)):
        found = vmap(lambda _: like(shared), randomness="different")(torch.zeros(4))  # noqa: B023
        assert found.shape == (4, 2, 3) and (found[0] != found[1]).any()
    p = torch.tensor([0.0, 1.0])
    assert (
        vmap(lambda _: torch.bernoulli(p), randomness="different")(torch.zeros(3)).tolist()
        == [[0.0, 1.0]] * 3
    )


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (torch.nonzero, r"dynamic shape\. Attempted to vmap over aten::nonzero"),
        (torch.unique, r"dynamic shape\. Attempted to vmap over aten::_unique2"),
        (lambda a: a[a > 0], "Attempting to batch over indexing with a boolean mask"),
        (
            lambda a: a.clone(memory_format=torch.channels_last),
            r"NYI: Tensor.clone\(memory_format\).*\(got ChannelsLast\)",
        ),
        (
            lambda a: a.contiguous(memory_format=torch.channels_last),
            "NYI: querying is_contiguous inside of vmap",
        ),
    ],
)
def test_words_of_what_vmap_cannot_do(f, words):
    with pytest.raises(RuntimeError, match=words):
        vmap(f)(torch.ones(2, 3, 4, 5, 6))


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@pytest.mark.parametrize("transform", [vmap, grad, jacrev, jacfwd, functionalize])
def test_functions_without_setup_context_are_refused(transform):
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        transform(lambda x: Doubled.apply(x).sum())(torch.ones(2))


@pytest.mark.parametrize(
    "transform", [grad, grad_and_value, jacrev, hessian, lambda f: lambda x: vjp(f, x)]
)
def test_no_saved_tensor_hooks_in_reverse_transforms(transform):
    def f(x):
        return x.sin().sum()

    def hooked(x):
        with torch.autograd.graph.save_on_cpu():
            return f(x)

    with pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"):
        transform(hooked)(torch.ones(2))
    with (
        pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"),
        torch.autograd.graph.save_on_cpu(),
    ):
        transform(f)(torch.ones(2))
    vmap(hooked)(torch.ones(2))


@pytest.mark.parametrize("aux", [1, "a", None])
def test_what_comes_beside_the_result_is_tensors(aux):
    x = torch.ones(2)
    for call in (
        lambda: grad(lambda x: (x.sum(), aux), has_aux=True)(x),
        lambda: vjp(lambda x: (x, [x, aux]), x, has_aux=True),
        lambda: jvp(lambda x: (x, {"a": aux}), (x,), (x,), has_aux=True),
        lambda: jacrev(lambda x: (x, aux), has_aux=True)(x),
    ):
        with pytest.raises(
            RuntimeError, match=f"Expected tensors, got unsupported type {type(aux)}"
        ):
            call()


def test_no_tangents_where_forward_gradients_are_off():
    from jtorch.autograd.forward_ad import _set_fwd_grad_enabled

    def f(x):
        with _set_fwd_grad_enabled(False):
            shift = x**2
        return x**2 - shift

    x = torch.tensor(3.0)
    assert jvp(f, (x,), (torch.tensor(1.0),))[1].item() == 6.0
    assert (
        jvp(lambda x: jvp(f, (x,), (torch.tensor(1.0),))[1], (x,), (torch.tensor(1.0),))[1].item()
        == 2.0
    )
    with _set_fwd_grad_enabled(False):
        assert jvp(lambda x: x * x, (x,), (torch.tensor(1.0),))[1].item() == 6.0


def test_what_functorch_tells():
    from jtorch._C import _functorch

    x = torch.arange(24).reshape(2, 3, 4)
    assert torch.equal(_functorch.reshape_dim_into(0, 1, x), x.movedim(0, 1).flatten(1))
    assert torch.equal(_functorch.reshape_dim_outof(-1, 2, x), x.reshape(2, 3, 2, 2))
    with pytest.raises(RuntimeError, match="cannot be split"):
        _functorch.reshape_dim_outof(1, 2, x)
    levels, kept = [], []
    vmap(
        lambda a: (
            levels.append(_functorch.dlevel(a))
            or vmap(lambda b: levels.append(_functorch.dlevel(b)) or kept.append(b) or b)(a)
        )
    )(x)
    assert levels == [1, 2] and _functorch.dlevel(x) == 0 and _functorch.dlevel(kept[0]) == -1


def test_gradients_of_what_a_generator_gives():
    layer = torch.nn.Linear(2, 1)
    found = torch.autograd.grad(layer(torch.ones(2)), (p for p in layer.parameters()))
    assert [g.shape for g in found] == [(1, 2), (1,)]
    named = torch.autograd.grad(layer(torch.ones(2)), dict(layer.named_parameters()))
    assert list(named) == ["weight", "bias"] and named["bias"].tolist() == [1.0]
    layer(torch.ones(2)).backward(inputs=(p for p in layer.parameters()))
    assert layer.bias.grad.tolist() == [1.0]


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(
    "write", [lambda w: w.mul_(3), lambda w: w[:1].sin_(), lambda w: w._base.mul_(5)]
)
def test_gradients_reach_views_that_were_written_inside(write, depth):
    def f(t):
        view = (t * 2).narrow(0, 0, 2)
        write(view)
        return view

    x = (
        torch.arange(1.0, 13.0, dtype=torch.float64).reshape(2, 2, 3)
        if depth == 2
        else torch.arange(1.0, 7.0, dtype=torch.float64).reshape(2, 3)
    )
    mapped = vmap(vmap(f)) if depth == 2 else vmap(f)
    expected = torch.stack(
        [torch.func.grad(lambda t: f(t).square().sum())(t) for t in x.reshape(-1, 3)]
    ).reshape(x.shape)
    assert expected.any()
    torch.testing.assert_close(torch.func.grad(lambda t: mapped(t).square().sum())(x), expected)
    leaf = x.clone().requires_grad_()
    mapped(leaf).square().sum().backward()
    torch.testing.assert_close(leaf.grad, expected)


@pytest.mark.parametrize(
    "transformed",
    [
        torch.func.grad,
        lambda f: lambda x: torch.func.vjp(f, x)[1](torch.tensor(1.0))[0],
        torch.func.jacrev,
    ],
)
def test_writes_without_history_reach_the_callers_argument(transformed):
    def f(t):
        t.detach()[0].add_(1)
        with torch.no_grad():
            t.mul_(2)
        return (t * 3).sum()

    whole = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(transformed(f)(whole[1]), torch.full((3,), 3.0))
    assert whole.tolist() == [[0, 1, 2], [8, 8, 10]]
    x = torch.ones(3, requires_grad=True)
    transformed(f)(x)
    assert x.tolist() == [4, 2, 2] and x.is_leaf
    assert torch.equal(transformed(lambda t: vmap(f)(t).sum())(whole), torch.full((2, 3), 3.0))
    assert whole.tolist() == [[2, 2, 4], [18, 16, 20]]


@pytest.mark.parametrize("write", [lambda t: t.mul_(2), lambda t: t[0].mul_(2)])
@pytest.mark.parametrize(
    "transformed", [torch.func.grad, lambda f: lambda x: torch.func.vjp(f, x)[0], torch.func.jacrev]
)
def test_arguments_with_a_history_outside_are_leaves_to_the_function(write, transformed):
    leaf = torch.ones(3, requires_grad=True)
    x = leaf * 1
    for wrapped in (transformed, lambda f: torch.func.grad(lambda u: transformed(f)(u * 1).sum())):
        with pytest.raises(
            RuntimeError,
            match="leaf Variable that requires grad is being used in an in-place operation",
        ):
            wrapped(lambda t: write(t).sum())(x)
        assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("mapped", "expected"),
    [  # derivatives of the sum of results, and of half the squares of what was written to
        (vmap(lambda t: t.mul_(2).sum()), lambda x: 2 + 4 * x),
        (
            vmap(lambda t: t[1:].mul_(3).sin(), in_dims=1),
            lambda x: torch.stack([x[0], 3 * (3 * x[1]).cos() + 9 * x[1]]),
        ),
        (vmap(vmap(lambda t: t.add_(1) * t)), lambda x: 3 * (x + 1)),
        (
            vmap(lambda t: t.mul_(torch.ones(3)).view(-1)[1]),
            lambda x: x + torch.tensor([0.0, 1, 0]),
        ),
        (vmap(lambda t: t.detach().mul_(2)), lambda x: 2 * x),
    ],
)
def test_arguments_of_a_vmap_with_a_history_are_written_to(mapped, expected):
    x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)

    def f(x):
        w = x * 1
        return mapped(w).sum() + w.square().sum() / 2

    torch.testing.assert_close(torch.func.grad(f)(x), expected(x))
    leaf = x.clone().requires_grad_()
    f(leaf).backward()
    torch.testing.assert_close(leaf.grad, expected(x))
    with pytest.raises(
        RuntimeError,
        match="leaf Variable that requires grad is being used in an in-place operation",
    ):
        vmap(lambda t: t.mul_(2))(leaf)


def test_writes_without_a_history_under_vmap_leave_the_arguments_theirs():
    leaf = torch.arange(1.0, 4.0, requires_grad=True)

    def f(t):
        with torch.no_grad():
            t.mul_(2)
        return t * t

    x = leaf * 1
    node = x.grad_fn
    # as to a leaf, which may be written to so
    assert torch.func.grad(lambda u: vmap(f)(u).sum())(x).tolist() == [4, 8, 12]
    assert x.tolist() == [2, 4, 6] and x.grad_fn is node
    assert (
        vmap(lambda t: t.detach().mul_(2))(x).tolist() == [4, 8, 12] == x.tolist()
        and x.grad_fn is node
    )
