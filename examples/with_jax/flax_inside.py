"""A Flax module inside a PyTorch program: one operator of its parameters and input, trained by
``torch.optim`` with the rest.

python flax_inside.py --steps 200
"""

import argparse

import flax.linen as linen
import jax

import jtorch as torch
from jtorch import nn


class Gate(linen.Module):
    """What a JAX program brings along."""

    width: int

    @linen.compact
    def __call__(self, x):
        return linen.Dense(self.width)(x) * jax.nn.sigmoid(linen.Dense(self.width)(x))


class FromFlax(nn.Module):
    """A Flax module as one of PyTorch: its parameters are ``nn.Parameter``, its call an operator
    with JAX's gradient."""

    def __init__(self, module, name, example, key):
        super().__init__()
        leaves, self.tree = jax.tree.flatten(module.init(key, example.jax())["params"])
        self.leaves = nn.ParameterList([nn.Parameter(torch.from_jax(leaf)) for leaf in leaves])

        @torch.library.jax_op(f"flax::{name}", schema="(Tensor[] leaves, Tensor x) -> Tensor")
        def call(leaves, x):
            return module.apply({"params": jax.tree.unflatten(self.tree, leaves)}, x)

        self.call = call

    def forward(self, x):
        return self.call(list(self.leaves), x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()

    torch.manual_seed(0)
    x = torch.randn(256, 8)
    y = (x[:, :1] * x[:, 1:2]).tanh()
    model = nn.Sequential(
        nn.Linear(8, 16),
        FromFlax(Gate(16), "gate", torch.zeros(1, 16), jax.random.key(0)),
        nn.Linear(16, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(args.steps + 1):
        loss = nn.functional.mse_loss(model(x), y)
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
