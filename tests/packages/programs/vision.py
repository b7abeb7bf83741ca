"""timm, vit_pytorch and torchvision: training with averages and mixed labels, features, half
precision, augmentation."""

from __future__ import annotations

from typing import Any

import torch

NEEDS = ["timm", "vit_pytorch", "torchvision"]


def trained_by_timm() -> Any:
    import timm
    from timm.data import Mixup
    from timm.loss import SoftTargetCrossEntropy
    from timm.optim import create_optimizer_v2
    from timm.scheduler import CosineLRScheduler
    from timm.utils import ModelEmaV3

    model = timm.create_model("resnet10t", num_classes=4, in_chans=1, drop_path_rate=0.1)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05, layer_decay=0.9)
    schedule = CosineLRScheduler(optimizer, t_initial=4, warmup_t=1, warmup_lr_init=1e-4)
    average = ModelEmaV3(model, decay=0.9)
    mix = Mixup(mixup_alpha=0.3, num_classes=4)
    losses = []
    for step in range(2):
        x, y = mix(torch.randn(4, 1, 32, 32), torch.tensor([0, 1, 2, 3]))
        loss = SoftTargetCrossEntropy()(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        timm.utils.dispatch_clip_grad(model.parameters(), 1.0)
        optimizer.step()
        average.update(model, step=step)
        schedule.step(step + 1)
        losses.append(loss.item())
    return (
        losses,
        optimizer.param_groups[-1]["lr"],
        sorted(k for k, _ in average.module.named_children()),
    )


def features_of_timm() -> Any:
    import timm

    x = torch.randn(1, 3, 64, 64)
    found: dict[str, Any] = {}
    pyramid = timm.create_model(
        "mobilenetv3_small_050", features_only=True, out_indices=(1, 2, 4)
    ).eval()
    found["pyramid"] = [(tuple(f.shape), f.mean().item()) for f in pyramid(x)]
    vit = timm.create_model("vit_tiny_patch16_224", img_size=64, num_classes=0, depth=2).eval()
    found["tokens"] = vit.forward_features(x)[0, 0, :4]
    last, layers = vit.forward_intermediates(x, indices=[0, 1])
    found["layers"] = [tuple(f.shape) for f in layers]
    found["pooled"] = vit.forward_head(last)[0, :4]
    found["same"] = bool(
        torch.allclose(vit(x), vit.forward_head(vit.forward_features(x)), atol=1e-5)
    )
    return found


def images_in_half_precision() -> Any:
    from vit_pytorch import ViT

    model = ViT(image_size=8, patch_size=4, num_classes=3, dim=16, depth=1, heads=2, mlp_dim=16)
    x = torch.randn(2, 3, 8, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(x)
    out.float().logsumexp(-1).sum().backward()
    return str(out.dtype), [round(v, 1) for v in out[0].float().tolist()], model(x)[0]


def augmented_images() -> Any:
    from torchvision import transforms
    from torchvision.transforms import v2

    x = torch.rand(3, 24, 24)
    old = transforms.Compose(
        [
            transforms.RandomResizedCrop(16, antialias=True),
            transforms.ColorJitter(0.2, 0.2),
            transforms.Normalize([0.5] * 3, [0.2] * 3),
        ]
    )
    new = v2.Compose(
        [
            v2.RandomHorizontalFlip(1.0),
            v2.RandomAffine(15, (0.1, 0.1)),
            v2.GaussianBlur(3),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    return old(x).mean((1, 2)), new((x * 255).to(torch.uint8)).mean((1, 2))
