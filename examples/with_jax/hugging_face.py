"""A Hugging Face model, which knows only PyTorch, in ``jax.jit`` with its batch spread over the
devices.

    XLA_FLAGS=--xla_force_host_platform_device_count=2 python -m jtorch hugging_face.py

The model has random weights, so that nothing need be downloaded; ``from_pretrained`` goes the same
way.
"""

import jax
import numpy as np
import torch
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from transformers import BertConfig, BertModel


def main() -> None:
    torch.manual_seed(0)
    model = BertModel(
        BertConfig(
            vocab_size=1000,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
        )
    ).eval()
    apply, params, buffers = torch.jax.functionalize(model)

    devices = jax.devices()
    mesh = jax.make_mesh((len(devices),), ("batch",), axis_types=(AxisType.Auto,))
    everywhere, by_rows = (
        NamedSharding(mesh, PartitionSpec()),
        NamedSharding(mesh, PartitionSpec("batch")),
    )
    ids = np.random.default_rng(0).integers(0, 1000, (4 * len(devices), 16))

    @jax.jit
    def embed(params, buffers, ids):
        return apply(params, buffers, ids, attention_mask=(ids != 0).astype(ids.dtype))[
            0
        ].pooler_output

    spread = embed(
        jax.device_put(params, everywhere),
        jax.device_put(buffers, everywhere),
        jax.device_put(ids, by_rows),
    )
    with torch.no_grad():
        alone = model(
            torch.from_numpy(ids), attention_mask=torch.from_numpy((ids != 0).astype(ids.dtype))
        ).pooler_output
    print(f"{spread.shape} over {len(spread.sharding.device_set)} device(s); largest difference "
          f"from the call without JAX {np.abs(np.asarray(spread) - alone.numpy()).max():.1e}")  # fmt: skip  # noqa: E501


if __name__ == "__main__":
    main()
