"""Small packages of research: performers, reformers, linear and local attention, memories, points,
diffusion."""

from __future__ import annotations

from typing import Any

import torch

NEEDS = [
    "performer_pytorch", "reformer_pytorch", "linformer", "nystrom_attention", "local_attention",
    "perceiver_pytorch", "axial_attention", "siren_pytorch", "egnn_pytorch", "soft_moe_pytorch",
    "byol_pytorch", "denoising_diffusion_pytorch", "titans_pytorch",
]  # fmt: skip


def _trained(model: Any, x: Any, steps: int = 3) -> Any:
    """Losses of some steps towards ones, and the first numbers of what then comes out."""
    optimizer, losses = torch.optim.Adam(model.parameters(), 1e-3), []
    x = x.requires_grad_()  # reversible layers record nothing otherwise
    for _ in range(steps):
        optimizer.zero_grad()
        out = model(x)
        out = out[0] if isinstance(out, tuple) else out
        loss = (out - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, out.reshape(-1)[:4]


def long_sequences() -> Any:
    from linformer import Linformer
    from local_attention import LocalAttention
    from nystrom_attention import Nystromformer
    from performer_pytorch import Performer, PerformerLM
    from reformer_pytorch import LSHSelfAttention, Reformer

    found: dict[str, Any] = {}
    x = torch.randn(2, 32, 16)
    found["performer"] = _trained(Performer(dim=16, depth=1, heads=2, dim_head=8, causal=False), x)
    lm = PerformerLM(
        num_tokens=11, max_seq_len=32, dim=16, depth=1, heads=2, dim_head=8, causal=False
    )
    found["performer_lm"] = lm(torch.randint(0, 11, (1, 32)))[0, 0]
    found["linformer"] = _trained(Linformer(dim=16, seq_len=32, depth=1, heads=2, k=8), x)
    found["nystrom"] = _trained(
        Nystromformer(dim=16, dim_head=8, heads=2, depth=1, num_landmarks=8, pinv_iterations=4), x
    )
    local = LocalAttention(
        dim=8,
        window_size=8,
        causal=True,
        look_backward=1,
        look_forward=0,
        dropout=0.0,
        autopad=True,
    )
    q, k, v = (torch.randn(2, 4, 30, 8) for _ in range(3))
    found["local"] = local(q, k, v)[0, 0, :2]
    found["lsh"] = _trained(
        LSHSelfAttention(dim=16, heads=2, bucket_size=8, n_hashes=2, causal=False), x
    )
    found["reformer"] = _trained(
        Reformer(dim=16, depth=1, heads=2, bucket_size=8, n_hashes=2, lsh_dropout=0.0, causal=True),
        x,
    )
    return found


def images_and_points() -> Any:
    from axial_attention import AxialAttention, AxialImageTransformer
    from egnn_pytorch import EGNN
    from perceiver_pytorch import Perceiver
    from siren_pytorch import SirenNet, SirenWrapper
    from soft_moe_pytorch import SoftMoE

    found: dict[str, Any] = {}
    image = torch.randn(1, 8, 6, 6)
    found["axial"] = _trained(AxialAttention(dim=8, dim_index=1, heads=2, num_dimensions=2), image)
    found["axial_image"] = _trained(
        AxialImageTransformer(dim=8, depth=1, heads=2, reversible=True), image
    )
    layer = EGNN(dim=6, edge_dim=2)
    feats, coors = layer(torch.randn(1, 5, 6), torch.randn(1, 5, 3), torch.randn(1, 5, 5, 2))
    found["egnn"] = feats[0, 0], coors[0]
    perceiver = Perceiver(input_channels=3, input_axis=2, num_freq_bands=2, max_freq=4.0, depth=1,
                          num_latents=4, latent_dim=8,
                          latent_heads=2, cross_dim_head=4, latent_dim_head=4, num_classes=5,
                          fourier_encode_data=True)  # fmt: skip
    found["perceiver"] = _trained(perceiver, torch.randn(2, 6, 6, 3))
    net = SirenNet(
        dim_in=2,
        dim_hidden=16,
        dim_out=3,
        num_layers=3,
        final_activation=torch.nn.Sigmoid(),
        w0_initial=30.0,
    )
    wrapper = SirenWrapper(net, image_width=6, image_height=6)
    loss = wrapper(torch.rand(1, 3, 6, 6))
    loss.backward()
    found["siren"] = loss, net.layers[0].weight.grad[0], wrapper()[0, 0, 0]
    found["soft_moe"] = _trained(SoftMoE(dim=8, seq_len=6, num_experts=3), torch.randn(1, 6, 8))
    return found


def memories() -> Any:
    from titans_pytorch import NeuralMemory

    mem = NeuralMemory(dim=8, chunk_size=4, dim_head=8, heads=1)
    out, state = mem(torch.randn(1, 16, 8))
    return out[0, :2], len(state)


def diffusion() -> Any:
    from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, Unet, Unet1D

    torch.manual_seed(0)
    model = Unet(dim=8, dim_mults=(1, 2), channels=1, flash_attn=False, full_attn=(False, True))
    process = GaussianDiffusion(model, image_size=8, timesteps=20, sampling_timesteps=3)
    images = torch.rand(2, 1, 8, 8)
    optimizer, losses = torch.optim.Adam(process.parameters(), 1e-3), []
    for _ in range(2):
        optimizer.zero_grad()
        loss = process(images)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    sampled = process.sample(batch_size=1)
    line = GaussianDiffusion1D(
        Unet1D(dim=8, dim_mults=(1, 2), channels=2), seq_length=16, timesteps=10, objective="pred_v"
    )
    return losses, sampled[0, 0, 0], line(torch.rand(2, 2, 16))


def own_views() -> Any:
    from byol_pytorch import BYOL

    torch.manual_seed(0)
    net = torch.nn.Sequential()
    torch.set_default_dtype(torch.float64)  # what is normalised over four rows magnifies roundings
    net.add_module("conv", torch.nn.Conv2d(3, 4, 3))
    net.add_module("pool", torch.nn.AdaptiveAvgPool2d(2))
    plain = torch.nn.Identity()
    sizes = {"image_size": 8, "projection_size": 8, "projection_hidden_size": 16}
    learner = BYOL(net, hidden_layer="pool", augment_fn=plain, augment_fn2=plain, **sizes).double()
    optimizer, losses = torch.optim.SGD(learner.parameters(), 0.1), []
    x = torch.randn(4, 3, 8, 8, dtype=torch.float64)
    for _ in range(3):
        loss = learner(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        learner.update_moving_average()
        losses.append(loss.item())
    torch.set_default_dtype(torch.float32)
    return losses, learner(x, return_embedding=True)[0][0]
