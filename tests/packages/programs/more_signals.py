"""Filters, wavelets, spectra, cosine transforms, operators on grids and equations solved in
batches, trained and applied."""

from __future__ import annotations

from typing import Any

import torch

NEEDS = [
    "asteroid_filterbanks",
    "nnAudio",
    "pytorch_wavelets",
    "torch_dct",
    "neuralop",
    "torchode",
    "sparsemax",
    "kan",
]


def _trained(model: Any, loss: Any, steps: int = 3) -> list[float]:
    optimizer, losses = torch.optim.Adam(model.parameters(), 1e-2), []
    for _ in range(steps):
        optimizer.zero_grad()
        found = loss()
        found.backward()
        optimizer.step()
        losses.append(found.item())
    return losses


def filterbanks() -> Any:
    from asteroid_filterbanks import Encoder, ParamSincFB, make_enc_dec
    from asteroid_filterbanks.transforms import mag
    from nnAudio import features

    found: dict[str, Any] = {}
    x = torch.randn(2, 1, 128)
    for kind in ("free", "analytic_free", "stft"):
        encoder, decoder = make_enc_dec(kind, n_filters=32, kernel_size=16, stride=8)
        both = torch.nn.ModuleList([encoder, decoder])
        found[kind] = decoder(encoder(x)).square().mean()
        if any(p.requires_grad for p in both.parameters()):
            found[f"{kind} trained"] = _trained(
                both, lambda d=decoder, e=encoder: (d(e(x)) - x).square().mean()
            )
    sinc = Encoder(ParamSincFB(16, 32, stride=8))
    found["sinc"] = _trained(sinc, lambda: mag(sinc(x)).mean())
    sound = torch.randn(1, 4000)
    for name, options in {
        "STFT": {"n_fft": 256, "output_format": "Magnitude"},
        "MelSpectrogram": {"sr": 8000, "n_fft": 256, "n_mels": 20},
        "MFCC": {"sr": 8000, "n_mfcc": 10, "n_fft": 256, "n_mels": 20},
        "CQT1992v2": {"sr": 8000, "fmin": 110, "n_bins": 24},
    }.items():
        found[name] = getattr(features, name)(hop_length=128, verbose=False, **options)(
            sound
        ).mean()
    learnt = features.STFT(
        n_fft=128, hop_length=64, trainable=True, verbose=False, output_format="Magnitude"
    )
    found["learnt spectra"] = _trained(learnt, lambda: learnt(sound).mean(), 2)
    return found


def wavelets_and_cosines() -> Any:
    import torch_dct
    from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWTForward, DWTInverse, ScatLayer

    x = torch.randn(1, 2, 16, 16, requires_grad=True)
    low, high = DWTForward(J=2, wave="db3", mode="zero")(x)
    back = DWTInverse(wave="db3", mode="zero")((low, high))
    (back * torch.randn_like(back)).sum().backward()
    even, odd = DTCWTForward(J=2)(x.detach())
    y = torch.randn(4, 8, requires_grad=True)
    cosines = torch_dct.dct(y)
    (cosines.square().sum() + torch_dct.dct_2d(y, norm="ortho").sum()).backward()
    return {
        "wavelets": [low.sum(), back.square().sum(), x.grad.square().sum()],
        "complex wavelets": [odd[0].abs().sum(), DTCWTInverse()((even, odd)).square().sum()],
        "scattering": ScatLayer()(x.detach()).sum(),
        "cosines": [cosines.sum(), torch_dct.idct(cosines).sum(), y.grad.square().sum()],
    }


def operators_and_equations() -> Any:
    import torchode
    from neuralop import LpLoss
    from neuralop.models import FNO

    grid, target, apart = torch.randn(2, 1, 12, 12), torch.randn(2, 1, 12, 12), LpLoss(d=2, p=2)
    operator = FNO(n_modes=(4, 4), in_channels=1, out_channels=1, hidden_channels=8, n_layers=2)
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    term = torchode.ODETerm(lambda t, y: net(y))
    solver = torchode.AutoDiffAdjoint(
        torchode.Tsit5(term=term), torchode.IntegralController(atol=1e-5, rtol=1e-3, term=term)
    )
    problem = torchode.InitialValueProblem(
        y0=torch.randn(4, 3), t_eval=torch.linspace(0, 1, 5).repeat(4, 1)
    )
    return {
        "fourier operator": _trained(operator, lambda: apart(operator(grid), target)),
        "equations": _trained(net, lambda: solver.solve(problem).ys.square().mean()),
    }


def splines_and_sparse_weights() -> Any:
    from kan import KAN
    from sparsemax import Sparsemax

    splines = KAN(width=[2, 3, 1], grid=3, k=3, seed=0, auto_save=False, noise_scale=0.1)
    x = torch.randn(30, 2)
    losses = _trained(splines, lambda: (splines(x) - x[:, :1] * x[:, 1:]).square().mean())
    splines.update_grid_from_samples(x)
    scores = torch.randn(3, 5, requires_grad=True)
    weights = Sparsemax(-1)(scores)
    (weights * torch.randn(3, 5)).sum().backward()
    return {
        "splines": losses,
        "new grid": splines(x).square().mean(),
        "sparse": [weights.square().sum(), scores.grad.square().sum()],
    }
