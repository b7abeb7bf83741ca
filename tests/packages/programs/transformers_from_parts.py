"""x_transformers, rotary embeddings, vector quantisation and einops layers, trained and
compiled."""

from __future__ import annotations

from typing import Any

import torch

NEEDS = ["x_transformers", "rotary_embedding_torch", "vector_quantize_pytorch", "einops"]


def autoregressive() -> Any:
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    attention = Decoder(
        dim=16,
        depth=2,
        heads=2,
        rotary_pos_emb=True,
        attn_qk_norm=True,
        ff_glu=True,
        use_rmsnorm=True,
    )
    model = AutoregressiveWrapper(
        TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=attention)
    )
    x = torch.randint(0, 20, (2, 12))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    losses = []
    for _ in range(2):
        loss = model(x)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses.append(loss.item())
    return losses, model.generate(x[:, :3], 4, temperature=0.0)


def encoder_and_decoder() -> Any:
    from x_transformers import XTransformer

    model = XTransformer(
        dim=16,
        enc_num_tokens=20,
        enc_depth=1,
        enc_heads=2,
        enc_max_seq_len=8,
        dec_num_tokens=20,
        dec_depth=1,
        dec_heads=2,
        dec_max_seq_len=8,
    )
    source, target = torch.randint(0, 20, (2, 8)), torch.randint(0, 20, (2, 8))
    mask = torch.ones_like(source).bool()
    mask[:, 6:] = False
    loss = model(source, target, mask=mask)
    loss.backward()
    return loss, sum(p.grad.abs().sum() for p in model.parameters() if p.grad is not None)


def layers_of_einops() -> Any:
    import einops
    from einops.layers.torch import EinMix, Rearrange, Reduce

    net = torch.nn.Sequential(
        Rearrange("b c (h a) (w d) -> b (h w) (c a d)", a=2, d=2),
        EinMix("b t c -> b t e", weight_shape="c e", bias_shape="e", c=12, e=6), torch.nn.GELU(),
        Reduce("b t e -> b e", "mean"),
    )  # fmt: skip
    x = torch.randn(2, 3, 4, 4, requires_grad=True)
    compiled = torch.compile(net)
    compiled(x).square().sum().backward()
    packed, shapes = einops.pack([x[:, :, 0], x[:, :, 1, 0]], "b *")
    parts = einops.unpack(packed, shapes, "b *")
    return (
        net(x)[0],
        x.grad.sum((0, 2, 3)),
        packed.shape,
        [tuple(p.shape) for p in parts],
        einops.einsum(x, x, "b c h w, b c h w -> b").tolist(),
    )


def rotations_and_codebooks() -> Any:
    from rotary_embedding_torch import RotaryEmbedding
    from vector_quantize_pytorch import FSQ, ResidualVQ, VectorQuantize

    turned = RotaryEmbedding(dim=8).rotate_queries_or_keys(torch.randn(1, 2, 5, 8))
    x = torch.randn(2, 6, 8)
    quantize = VectorQuantize(dim=8, codebook_size=12, decay=0.8, commitment_weight=1.0)
    quantized, indices, loss = quantize(x)
    again, again_indices, _ = quantize(x)
    residual = ResidualVQ(dim=8, num_quantizers=2, codebook_size=6)(x)[1]
    codes = FSQ([4, 3])(torch.randn(2, 6, 2))[1]
    return (
        turned.sum(-1),
        indices,
        loss,
        again_indices,
        quantized.sum(),
        again.sum(),
        residual,
        codes,
    )
