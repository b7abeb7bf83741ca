"""e3nn, MONAI, tensordict and kornia: equivariant layers, volumes with metadata, nested batches,
images augmented and warped."""

from __future__ import annotations

from typing import Any

import torch

NEEDS = ["e3nn", "monai", "tensordict", "kornia"]


def equivariant_layers() -> Any:
    from e3nn import o3
    from e3nn.nn import FullyConnectedNet, Gate

    x = torch.randn(6, 4 + 3 * 2)
    irreps = o3.Irreps("4x0e + 2x1o")
    product = o3.FullyConnectedTensorProduct(irreps, o3.Irreps("0e + 1o"), o3.Irreps("8x0e + 3x1o"))
    harmonics = o3.spherical_harmonics(
        "0e + 1o", torch.randn(6, 3), normalize=True, normalization="component"
    )
    out = product(x, harmonics)
    gate = Gate("5x0e", [torch.relu], "3x0e", [torch.sigmoid], "3x1o")
    gated = gate(out)
    net = FullyConnectedNet([4, 8, 2], torch.nn.functional.silu)
    loss = gated.square().sum() + net(x[:, :4]).sum()
    loss.backward()
    turn = o3.rand_matrix()
    turned = product(
        x @ irreps.D_from_matrix(turn).T, harmonics @ o3.Irreps("0e + 1o").D_from_matrix(turn).T
    )
    error = (turned - out @ product.irreps_out.D_from_matrix(turn).T).abs().max()
    return (
        out[0],
        gated[0],
        product.weight.grad[:4],
        bool(error < 1e-4),
        o3.wigner_3j(1, 1, 2).flatten()[:6],
    )


def volumes() -> Any:
    import monai
    import numpy as np
    from monai.data import CacheDataset, DataLoader, MetaTensor, decollate_batch
    from monai.inferers import sliding_window_inference
    from monai.transforms import (
        AsDiscrete,
        Compose,
        EnsureChannelFirstd,
        NormalizeIntensityd,
        RandFlipd,
        RandRotate90d,
        Resized,
        Spacingd,
    )

    monai.utils.set_determinism(0)
    generator = np.random.default_rng(0)
    items = [
        {
            "image": MetaTensor(generator.random((12, 10, 8), dtype=np.float32)),
            "label": MetaTensor((generator.random((12, 10, 8)) > 0.5) * 1.0),
        }
        for _ in range(2)
    ]
    keys = ["image", "label"]
    transform = Compose(
        [
            EnsureChannelFirstd(keys, channel_dim="no_channel"),
            Spacingd(keys, (1.2, 1.2, 1.0), mode=("bilinear", "nearest")),
            NormalizeIntensityd("image"),
            Resized(keys, (8, 8, 8), mode=("trilinear", "nearest")),
            RandFlipd(keys, 0.5, 0),
            RandRotate90d(keys, 0.5),
        ]
    )
    loader = DataLoader(CacheDataset(items, transform, progress=False), 2)
    net = monai.networks.nets.UNet(
        spatial_dims=3,
        in_channels=1,
        out_channels=2,
        channels=(4, 8),
        strides=(2,),
        num_res_units=1,
    )
    loss = monai.losses.DiceCELoss(to_onehot_y=True, softmax=True)
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    losses = []
    for batch in loader:
        for _ in range(2):
            optimizer.zero_grad()
            value = loss(net(batch["image"]), batch["label"])
            value.backward()
            optimizer.step()
            losses.append(value.item())
    net.eval()
    with torch.no_grad():
        out = sliding_window_inference(batch["image"], (8, 8, 4), 2, net, overlap=0.25)
    dice = monai.metrics.DiceMetric(include_background=False)
    discrete = AsDiscrete(argmax=True, to_onehot=2)
    dice(
        [discrete(o) for o in decollate_batch(out)],
        [AsDiscrete(to_onehot=2)(y) for y in decollate_batch(batch["label"])],
    )
    return losses, dice.aggregate(), type(batch["image"]).__name__, batch["image"].affine[0]


def nested_batches() -> Any:
    import tempfile

    from tensordict import TensorDict, tensorclass
    from tensordict.nn import ProbabilisticTensorDictModule, TensorDictModule, TensorDictSequential

    @tensorclass
    class Step:
        seen: torch.Tensor
        reward: torch.Tensor

    steps = Step(seen=torch.randn(4, 3), reward=torch.arange(4.0), batch_size=[4])
    policy = TensorDictSequential(
        TensorDictModule(torch.nn.Linear(3, 2), in_keys=["seen"], out_keys=["logits"]),
        ProbabilisticTensorDictModule(
            in_keys=["logits"],
            out_keys=["action"],
            distribution_class=torch.distributions.Categorical,
            return_log_prob=True,
        ),
    )
    done = policy(TensorDict({"seen": steps.seen}, [4]))
    joined = torch.cat([steps, steps[:2]])
    weights = TensorDict.from_module(policy)
    doubled = weights.apply(lambda w: 2 * w)
    with doubled.to_module(policy), torch.no_grad():
        other = policy[0](TensorDict({"seen": steps.seen}, [4]))["logits"][0]
    with tempfile.TemporaryDirectory() as folder:
        kept = done.detach().memmap(folder)
        again = TensorDict.load_memmap(folder)
    same = bool((kept["logits"] == again["logits"]).all())
    (chance,) = (done[k] for k in ("action_log_prob", "sample_log_prob") if k in done)
    return done["action"], chance, joined.reward, other, same


def images() -> Any:
    import kornia
    import kornia.augmentation as augment

    x = torch.rand(2, 3, 12, 12)
    boxes = torch.tensor([[[1.0, 2.0, 6.0, 8.0]]]).repeat(2, 1, 1)
    both = augment.AugmentationSequential(
        augment.RandomHorizontalFlip(p=1.0),
        augment.RandomRotation(20.0, p=1.0),
        augment.RandomErasing(p=1.0),
        data_keys=["input", "bbox_xyxy"],
    )
    image, moved = both(x, boxes)
    points = kornia.feature.harris_response(kornia.color.rgb_to_grayscale(x))
    matrix = kornia.geometry.get_rotation_matrix2d(
        torch.full((2, 2), 6.0), torch.tensor([10.0, 30.0]), torch.ones(2, 2)
    )
    warped = kornia.geometry.warp_affine(x, matrix, (12, 12))
    similar = kornia.metrics.ssim(x, warped, 5).mean()
    return (
        image.mean((0, 2, 3)),
        moved,
        points.sum(),
        warped.std(),
        similar,
        kornia.filters.canny(x)[1].sum(),
        kornia.enhance.equalize(x).mean(),
    )
