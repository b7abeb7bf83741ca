"""Further packages of vision: segmentation models, lightly, open_clip, piq, grad-cam, efficientnet,
segment_anything, fvcore, ttach."""

from __future__ import annotations

from typing import Any

import torch

NEEDS = [
    "segmentation_models_pytorch", "lightly", "open_clip", "piq", "pytorch_grad_cam",
    "efficientnet_pytorch", "segment_anything", "fvcore", "ttach", "torchvision", "spandrel",
]  # fmt: skip


def segmentation() -> Any:
    import segmentation_models_pytorch as smp

    found: dict[str, Any] = {}
    for name in ("Unet", "FPN", "DeepLabV3Plus"):
        torch.manual_seed(0)
        model = getattr(smp, name)("resnet18", encoder_weights=None, in_channels=3, classes=2)
        x, y = torch.randn(2, 3, 64, 64), (torch.rand(2, 2, 64, 64) > 0.5).float()
        optimizer, losses = torch.optim.SGD(model.parameters(), 0.01), []
        for _ in range(2):
            optimizer.zero_grad()
            out = model(x)
            loss = smp.losses.DiceLoss("multilabel")(out, y) + smp.losses.FocalLoss("multilabel")(
                out, y
            )
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        found[name] = losses
    logits = torch.randn(2, 2, 8, 8)
    target = (torch.rand(2, 2, 8, 8) > 0.5).long()
    counts = smp.metrics.get_stats((logits > 0).long(), target, mode="multilabel")
    found["iou"] = (
        smp.metrics.iou_score(*counts, reduction="micro"),
        smp.metrics.f1_score(*counts, reduction="macro"),
    )
    for name in ("JaccardLoss", "LovaszLoss", "TverskyLoss", "MCCLoss"):
        made = getattr(smp.losses, name)(*([] if name == "MCCLoss" else ["multilabel"]))
        found[name] = made(
            torch.randn(2, 1, 8, 8).sigmoid() if name == "MCCLoss" else torch.randn(2, 2, 8, 8),
            target[:, :1].float() if name == "MCCLoss" else target,
        )
    return found


def self_supervision() -> Any:
    from lightly import loss as losses
    from lightly.models.modules import BYOLProjectionHead, DINOProjectionHead, SimCLRProjectionHead
    from lightly.models.utils import deactivate_requires_grad, update_momentum
    from lightly.utils.scheduler import cosine_schedule

    a, b = torch.randn(8, 6, requires_grad=True), torch.randn(8, 6)
    found: dict[str, Any] = {}
    for name in (
        "NTXentLoss",
        "NegativeCosineSimilarity",
        "BarlowTwinsLoss",
        "VICRegLoss",
        "DCLLoss",
        "TiCoLoss",
    ):
        value = getattr(losses, name)()(a, b)
        found[name] = value, torch.autograd.grad(value, a)[0][0]
    head = SimCLRProjectionHead(6, 8, 4)
    momentum = BYOLProjectionHead(6, 8, 4)
    teacher = BYOLProjectionHead(6, 8, 4)
    deactivate_requires_grad(teacher)
    update_momentum(momentum, teacher, cosine_schedule(1, 10, 0.9, 1.0))
    found["heads"] = head(b)[0], teacher(b)[0]
    dino = losses.DINOLoss(output_dim=5)
    view = DINOProjectionHead(6, 8, 4, 5)
    outs = [view(b).detach(), view(b + 0.1).detach()]
    found["dino"] = dino(outs, [view(a), view(a * 2)], epoch=1), dino.center.reshape(-1)
    return found


def contrastive_images_and_texts() -> Any:
    import open_clip

    torch.manual_seed(0)
    model = open_clip.CLIP(
        embed_dim=16,
        vision_cfg={"image_size": 16, "patch_size": 8, "width": 16, "layers": 1, "head_width": 8},
        text_cfg={"context_length": 8, "vocab_size": 20, "width": 16, "heads": 2, "layers": 1},
    )
    images, texts = torch.randn(3, 3, 16, 16), torch.randint(1, 20, (3, 8))
    optimizer, losses = torch.optim.AdamW(model.parameters(), 1e-3), []
    loss_of = open_clip.ClipLoss()
    for _ in range(2):
        optimizer.zero_grad()
        image, text, scale = model(images, texts)
        loss = loss_of(image, text, scale)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return (
            losses,
            model.encode_image(images, normalize=True)[0],
            model.encode_text(texts, normalize=True)[0],
        )


def qualities_of_images() -> Any:
    import piq

    x, y = torch.rand(2, 3, 64, 64, requires_grad=True), torch.rand(2, 3, 64, 64)
    found: dict[str, Any] = {}
    for name in (
        "psnr",
        "ssim",
        "multi_scale_ssim",
        "vif_p",
        "gmsd",
        "multi_scale_gmsd",
        "haarpsi",
        "mdsi",
        "vsi",
        "srsim",
        "fsim",
        "dss",
    ):
        given = {"kernel_size": 3} if name == "multi_scale_ssim" else {}
        value = getattr(piq, name)(x, y, data_range=1.0, **given)
        found[name] = value, torch.autograd.grad(value, x)[0][0, 0, 0, :3]
    found["tv"] = piq.total_variation(x)
    return found


def maps_of_attention() -> Any:
    from pytorch_grad_cam import EigenCAM, GradCAM, GradCAMPlusPlus, LayerCAM, XGradCAM
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
    from torchvision.models import resnet18

    torch.manual_seed(0)
    model = resnet18(num_classes=4).eval()
    x = torch.randn(1, 3, 48, 48)
    found: dict[str, Any] = {}
    for method in (GradCAM, GradCAMPlusPlus, XGradCAM, LayerCAM, EigenCAM):
        with method(model=model, target_layers=[model.layer3[-1]]) as cam:
            found[method.__name__] = cam(input_tensor=x, targets=[ClassifierOutputTarget(1)])[
                0, ::16, ::16
            ]
    return found


def backbones() -> Any:
    from efficientnet_pytorch import EfficientNet
    from fvcore.nn import parameter_count, sigmoid_focal_loss, smooth_l1_loss
    from segment_anything.modeling import (
        ImageEncoderViT,
        MaskDecoder,
        PromptEncoder,
        Sam,
        TwoWayTransformer,
    )

    found: dict[str, Any] = {}
    torch.manual_seed(0)
    net = EfficientNet.from_name("efficientnet-b0", num_classes=3, image_size=32).eval()
    x = torch.randn(1, 3, 32, 32)
    found["efficientnet"] = net(x), [f.sum() for f in net.extract_endpoints(x).values()]
    found["parameters"] = parameter_count(net)["_fc"]
    found["losses"] = (
        sigmoid_focal_loss(x, (x > 0).float(), alpha=0.25, reduction="mean"),
        smooth_l1_loss(x, x * 0.5, 0.1, reduction="mean"),
    )
    encoder = ImageEncoderViT(
        img_size=32,
        patch_size=8,
        embed_dim=16,
        depth=1,
        num_heads=2,
        out_chans=16,
        use_rel_pos=True,
        window_size=2,
    )
    prompts = PromptEncoder(
        embed_dim=16, image_embedding_size=(4, 4), input_image_size=(32, 32), mask_in_chans=4
    )
    decoder = MaskDecoder(
        transformer_dim=16,
        transformer=TwoWayTransformer(depth=1, embedding_dim=16, num_heads=2, mlp_dim=32),
        iou_head_hidden_dim=16,
    )
    sam = Sam(encoder, prompts, decoder).eval()
    given = [
        {
            "image": torch.rand(3, 32, 32) * 255,
            "original_size": (30, 28),
            "point_coords": torch.tensor([[[4.0, 5.0]]]),
            "point_labels": torch.ones(1, 1),
        }
    ]
    out = sam(given, multimask_output=True)[0]
    found["sam"] = (
        out["iou_predictions"],
        out["low_res_logits"][0, 0, 0, :4],
        int(out["masks"].sum()),
    )
    return found


def augmented_tests() -> Any:
    import ttach
    from spandrel.architectures.ESRGAN import ESRGAN

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3, padding=1), torch.nn.ReLU())
    model = ttach.SegmentationTTAWrapper(net, ttach.aliases.d4_transform(), merge_mode="mean")
    larger = ESRGAN(in_nc=3, out_nc=3, num_filters=4, num_blocks=1, scale=2)
    return model(torch.randn(1, 3, 8, 8))[0, 0, 0], larger(torch.rand(1, 3, 6, 6))[0, 0, 0]
