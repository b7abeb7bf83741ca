"""Trains a PyTorch model with optax under ``jax.jit`` on the digits of scikit-learn, and keeps
orbax checkpoints from which it goes on.

    python optax_orbax.py --epochs 20 --out out/optax

Run it again with more epochs: it goes on from the last checkpoint.
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from sklearn.datasets import load_digits

import jtorch as torch
from jtorch import nn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--out", type=Path, default=Path("out/optax"))
    args = parser.parse_args()

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    images, labels = (images[order] / 16).astype(np.float32).reshape(-1, 1, 8, 8), labels[order]
    train, test = slice(0, 1500), slice(1500, None)

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(512, 10),
    )  # fmt: skip
    # a pure function of two dictionaries of arrays
    apply, params, buffers = torch.jax.functionalize(model)
    optimizer = optax.adamw(3e-3)

    @jax.jit
    def step(params, buffers, state, key, x, y):
        def loss(params):
            with torch.jax.with_key(key):  # where dropout's masks come from
                logits, new_buffers = apply(params, buffers, x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), new_buffers

        (value, buffers), grads = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), buffers, state, value

    saved = {"params": params, "buffers": buffers, "state": optimizer.init(params), "epoch": 0}
    with ocp.CheckpointManager(
        args.out.resolve(), options=ocp.CheckpointManagerOptions(max_to_keep=2)
    ) as manager:
        if manager.latest_step() is not None:
            saved = manager.restore(manager.latest_step(), args=ocp.args.StandardRestore(saved))
            print(f"goes on after epoch {saved['epoch']}")
        for epoch in range(int(saved["epoch"]), args.epochs):
            order = np.random.default_rng(epoch).permutation(1500)
            for i, rows in enumerate(
                np.split(order[: 1500 // args.batch * args.batch], 1500 // args.batch)
            ):
                key = jax.random.fold_in(jax.random.key(epoch), i)
                saved["params"], saved["buffers"], saved["state"], loss = step(
                    saved["params"],
                    saved["buffers"],
                    saved["state"],
                    key,
                    images[train][rows],
                    labels[train][rows],
                )
            saved["epoch"] = epoch + 1
            print(f"epoch {epoch + 1}: loss {float(loss):.4f}")
            manager.save(epoch + 1, args=ocp.args.StandardSave(saved))

    model.eval()  # what ``apply`` does follows the module
    logits, _ = jax.jit(apply)(saved["params"], saved["buffers"], images[test])
    print(f"test accuracy {float(jnp.mean(logits.argmax(1) == labels[test])):.2%}")


if __name__ == "__main__":
    main()
