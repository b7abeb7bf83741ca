"""Steps of programs whose graphs are of other kinds than a classifier's, and the backward pass in
immediate mode."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..contest import Bar, Contest, Step, same_program


def _weights(torch: Any, *modules: Any) -> list[Any]:
    """The parameters of modules, filled with the same numbers for everybody."""
    rng = np.random.default_rng(0)
    found = [p for m in modules for p in m.parameters()]
    with torch.no_grad():
        for p in found:
            p.copy_(
                torch.tensor(
                    (rng.standard_normal(tuple(p.shape)) * 0.5 / p.shape[-1] ** 0.5).astype(
                        np.float32
                    )
                )
            )
    return found


def _data(torch: Any, *shape: int) -> Any:
    return torch.tensor(np.random.default_rng(1).standard_normal(shape).astype(np.float32))


def _layers(torch: Any, *sizes: int, between: Any = None) -> Any:
    nn = torch.nn
    found: list[Any] = []
    for a, b in itertools.pairwise(sizes):
        found += [nn.Linear(a, b), (between or nn.ReLU)()]
    return nn.Sequential(*found[:-1])


def autoencoder(torch: Any) -> Step:
    """A variational autoencoder of images of 784 pixels, batch 64, Adam."""
    functional = torch.nn.functional
    encoder, decoder = _layers(torch, 784, 256, 40), _layers(torch, 20, 256, 784)
    optimizer = torch.optim.Adam(_weights(torch, encoder, decoder), lr=1e-3)
    x = _data(torch, 64, 784).sigmoid()
    torch.manual_seed(0)

    def step() -> float:
        optimizer.zero_grad()
        mean, log_variance = encoder(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
        loss = (
            functional.binary_cross_entropy_with_logits(decoder(z), x, reduction="sum") + divergence
        )
        loss.backward()
        optimizer.step()
        return loss.item() / 64

    return Step(step)


def adversaries(torch: Any) -> Step:
    """A generator and a discriminator of vectors of 64, batch 64, Adam each."""
    nn, functional = torch.nn, torch.nn.functional
    generator, critic = (
        _layers(torch, 16, 128, 128, 64),
        _layers(torch, 64, 128, 128, 1, between=lambda: nn.LeakyReLU(0.2)),
    )
    first, second = (
        torch.optim.Adam(_weights(torch, generator), lr=2e-4),
        torch.optim.Adam(_weights(torch, critic), lr=2e-4),
    )
    x, ones, zeros = _data(torch, 64, 64), torch.ones(64, 1), torch.zeros(64, 1)
    judge = functional.binary_cross_entropy_with_logits
    torch.manual_seed(0)

    def step() -> float:
        made = generator(torch.randn(64, 16))
        second.zero_grad()
        loss = judge(critic(x), ones) + judge(critic(made.detach()), zeros)
        loss.backward()
        second.step()
        first.zero_grad()
        fooled = judge(critic(made), ones)
        fooled.backward()
        first.step()
        return loss.item() + fooled.item()

    return Step(step)


def equation(torch: Any) -> Step:
    """A network that solves the heat equation at 256 points: derivatives of second order by
    ``autograd.grad``, Adam."""
    net = _layers(torch, 2, 64, 64, 64, 1, between=torch.nn.Tanh)
    optimizer = torch.optim.Adam(_weights(torch, net), lr=1e-3)
    points = _data(torch, 256, 2)

    def step() -> float:
        optimizer.zero_grad()
        xt = points.clone().requires_grad_()
        u = net(xt)
        (du,) = torch.autograd.grad(u.sum(), xt, create_graph=True)
        (dux,) = torch.autograd.grad(du[:, 0].sum(), xt, create_graph=True)
        loss = (du[:, 1] - 0.1 * dux[:, 0]).square().mean() + (u - xt[:, :1].sin()).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return Step(step)


def learning_to_learn(torch: Any) -> Step:
    """Four tasks, one inner step of gradient descent each, differentiated through
    (``func.functional_call``), Adam."""
    functional = torch.nn.functional
    net = _layers(torch, 1, 40, 40, 1)
    optimizer = torch.optim.Adam(_weights(torch, net), lr=1e-3)
    x = _data(torch, 4, 2, 10, 1)
    y = (x * 3).sin() * torch.arange(1.0, 5.0).view(4, 1, 1, 1)

    def step() -> float:
        optimizer.zero_grad()
        params = dict(net.named_parameters())
        loss = 0.0
        for task in range(4):
            inner = functional.mse_loss(net(x[task, 0]), y[task, 0])
            grads = torch.autograd.grad(inner, list(params.values()), create_graph=True)
            fast = {name: p - 0.01 * g for (name, p), g in zip(params.items(), grads, strict=True)}
            loss = loss + functional.mse_loss(
                torch.func.functional_call(net, fast, (x[task, 1],)), y[task, 1]
            )
        loss.backward()
        optimizer.step()
        return loss.item()

    return Step(step)


def diffusion(torch: Any) -> Step:
    """Predicting the noise in images of 16 x 16, batch 16, by a small convolutional network,
    AdamW."""
    nn, functional = torch.nn, torch.nn.functional
    into, middle, out = (
        nn.Conv2d(1, 32, 3, padding=1),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.Conv2d(32, 1, 3, padding=1),
    )
    norm, when = nn.GroupNorm(8, 32), nn.Linear(32, 32)
    optimizer = torch.optim.AdamW(_weights(torch, into, middle, out, norm, when), lr=1e-3)
    x, kept = _data(torch, 16, 1, 16, 16), torch.linspace(0.999, 0.01, 100)
    waves = torch.exp(torch.arange(16) * -0.5)
    torch.manual_seed(0)

    def step() -> float:
        optimizer.zero_grad()
        t = torch.randint(0, 100, (16,))
        noise = torch.randn_like(x)
        share = kept[t].view(-1, 1, 1, 1)
        noisy = share.sqrt() * x + (1 - share).sqrt() * noise
        angles = t[:, None] * waves
        at = when(torch.cat([angles.sin(), angles.cos()], 1))[:, :, None, None]
        h = functional.silu(into(noisy)) + at
        h = h + functional.silu(norm(middle(h)))
        loss = functional.mse_loss(out(h), noise)
        loss.backward()
        optimizer.step()
        return loss.item()

    return Step(step)


def backward(torch: Any) -> Step:
    """Forward and ``backward()`` of four layers of 64, batch 8."""
    net = _layers(torch, 64, 64, 64, 64, 10)
    params = _weights(torch, net)
    x, y = _data(torch, 8, 64), torch.tensor(np.arange(8))

    def step() -> float:
        for p in params:
            p.grad = None
        torch.nn.functional.cross_entropy(net(x), y).backward()
        return params[0].grad[0, 0].item()

    return Step(step)


#: Two of them draw numbers of their own; five steps agree all the same.
PROGRAMS = {
    "variational autoencoder": autoencoder,
    "GAN": adversaries,
    "PINN, second derivatives": equation,
    "MAML": learning_to_learn,
    "diffusion step": diffusion,
}


def _contest(name: str, program: Callable[[Any], Step]) -> Contest:
    return Contest(
        name, same_program(program), [Bar("deferred", 1.0, "torch")], agree=2e-3, apart=True
    )


CONTESTS: dict[str, Callable[[], Contest]] = {
    name: (lambda name=name, p=p: _contest(name, p)) for name, p in PROGRAMS.items()
}
BACKWARD = "backward() of 4 layers, batch 8, immediate"
CONTESTS[BACKWARD] = lambda: Contest(
    BACKWARD, same_program(backward), [Bar("immediate", 1.3, "torch")], apart=True
)
