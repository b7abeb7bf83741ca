"""Further frameworks: torchrl, fairscale, deepctr, torcheval, torchaudio, encodec, speechbrain,
titans, ultralytics."""

from __future__ import annotations

import contextlib
import io
import tempfile
from typing import Any

import torch

NEEDS = [
    "torchrl",
    "fairscale",
    "deepctr_torch",
    "torcheval",
    "encodec",
    "torchaudio",
    "titans_pytorch",
    "torchlens",
    "speechbrain",
    "ultralytics",
    "compressed_tensors",
]


def reinforcement() -> Any:
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule
    from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
    from torchrl.modules import (
        MLP,
        NormalParamExtractor,
        ProbabilisticActor,
        TanhNormal,
        ValueOperator,
    )
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE

    torch.manual_seed(0)
    actor_net = torch.nn.Sequential(
        MLP(in_features=4, out_features=4, depth=1, num_cells=8), NormalParamExtractor()
    )
    actor = ProbabilisticActor(
        TensorDictModule(actor_net, ["observation"], ["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        return_log_prob=True,
    )
    critic = ValueOperator(
        MLP(in_features=4, out_features=1, depth=1, num_cells=8), in_keys=["observation"]
    )
    data = TensorDict({"observation": torch.randn(6, 5, 4)}, [6, 5])
    with torch.no_grad():
        data = actor(data)
    data["next"] = TensorDict(
        {"observation": torch.randn(6, 5, 4), "reward": torch.randn(6, 5, 1),
         "done": torch.zeros(6, 5, 1, dtype=torch.bool),
         "terminated": torch.zeros(6, 5, 1, dtype=torch.bool)}, [6, 5]
    )  # fmt: skip
    # see docs/differences.md
    GAE(gamma=0.9, lmbda=0.9, value_network=critic, deactivate_vmap=True)(data)
    loss = ClipPPOLoss(actor, critic, clip_epsilon=0.2)
    optimizer, values = torch.optim.Adam(loss.parameters(), 1e-2), []
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(30), batch_size=10)
    buffer.extend(data.reshape(-1).detach())
    for _ in range(2):
        found = loss(data.reshape(-1))
        total = found["loss_objective"] + found["loss_critic"]
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        values.append([found["loss_objective"].item(), found["loss_critic"].item()])
    return values, data["advantage"][0, :, 0], len(buffer), list(buffer.sample().batch_size)


def large_models() -> Any:
    from fairscale.nn import checkpoint_wrapper
    from fairscale.nn.model_parallel.layers import ColumnParallelLinear  # noqa: F401
    from fairscale.optim.grad_scaler import ShardedGradScaler  # noqa: F401

    torch.manual_seed(0)
    net = torch.nn.Sequential(
        checkpoint_wrapper(torch.nn.Linear(4, 4)), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    )
    x = torch.randn(3, 4, requires_grad=True)
    net(x).square().sum().backward()
    return x.grad, next(net.parameters()).grad


def clicks() -> Any:
    import numpy as np
    from deepctr_torch.inputs import DenseFeat, SparseFeat, get_feature_names
    from deepctr_torch.models import AFM, DCN, DeepFM, xDeepFM

    rng = np.random.default_rng(0)
    columns = [
        SparseFeat("a", 5, embedding_dim=4),
        SparseFeat("b", 3, embedding_dim=4),
        DenseFeat("c", 1),
    ]
    data = {
        "a": rng.integers(0, 5, 64),
        "b": rng.integers(0, 3, 64),
        "c": rng.random(64).astype("float32"),
    }
    y, found = rng.integers(0, 2, 64), {}
    for made in (DeepFM, DCN, xDeepFM, AFM):
        model = made(
            columns, columns[:2] if made is AFM else columns, task="binary", device="cpu", seed=1
        )
        model.compile("adam", "binary_crossentropy", metrics=["binary_crossentropy"])
        with contextlib.redirect_stdout(io.StringIO()):
            history = model.fit(
                {k: data[k] for k in get_feature_names(columns)},
                y,
                batch_size=32,
                epochs=2,
                verbose=0,
                shuffle=False,
            )
        found[made.__name__] = (
            [float(v) for v in history.history["loss"]],
            model.predict(data, 32)[:3, 0],
        )
    return found


def metrics() -> Any:
    from torcheval.metrics import (
        BinaryAUROC,
        MeanSquaredError,
        MulticlassAccuracy,
        MulticlassF1Score,
        Perplexity,
        R2Score,
    )
    from torcheval.metrics import functional as F

    logits, y = torch.randn(20, 3), torch.randint(0, 3, (20,))
    found = {}
    for made in (MulticlassAccuracy(), MulticlassF1Score(num_classes=3, average="macro")):
        found[type(made).__name__] = made.update(logits, y).compute()
    found["auroc"] = BinaryAUROC().update(logits[:, 0], (y > 0).float()).compute()
    found["mse"] = MeanSquaredError().update(logits[:, 0], logits[:, 1]).compute()
    found["r2"] = R2Score().update(logits[:, 0], logits[:, 1]).compute()
    found["perplexity"] = (
        Perplexity().update(torch.randn(2, 5, 3), torch.randint(0, 3, (2, 5))).compute()
    )
    found["ap"] = F.binary_auprc(logits[:, 0], (y > 0).float())
    found["confusion"] = F.multiclass_confusion_matrix(logits, y, 3)
    return found


def sounds() -> Any:
    import torchaudio
    from encodec.modules import SEANetDecoder, SEANetEncoder
    from encodec.quantization import ResidualVectorQuantizer

    torch.manual_seed(0)
    wave = torch.randn(1, 2000)
    found: dict[str, Any] = {}
    T, F = torchaudio.transforms, torchaudio.functional
    found["mel"] = T.MelSpectrogram(8000, n_fft=128, n_mels=8)(wave)[0, :, 3]
    found["mfcc"] = T.MFCC(8000, n_mfcc=5, melkwargs={"n_fft": 128, "n_mels": 8})(wave)[0, :, 3]
    found["db"] = T.AmplitudeToDB()(T.Spectrogram(n_fft=64)(wave))[0, :4, 2]
    found["resampled"] = F.resample(wave, 8000, 6000)[0, :5]
    found["griffin"] = T.GriffinLim(n_fft=64, n_iter=4, rand_init=False)(
        T.Spectrogram(n_fft=64)(wave)
    )[0, :5]
    found["filtered"] = (
        F.lowpass_biquad(wave, 8000, 1000)[0, :5],
        F.highpass_biquad(wave, 8000, 1000)[0, 5:9],
    )
    found["stretched"] = T.TimeStretch(n_freq=33, fixed_rate=1.2)(
        T.Spectrogram(n_fft=64, power=None)(wave)
    ).abs()[0, :4, 2]
    encoder, decoder = (
        SEANetEncoder(channels=1, dimension=8, n_filters=2, ratios=[4, 2], lstm=1),
        SEANetDecoder(channels=1, dimension=8, n_filters=2, ratios=[4, 2], lstm=1),
    )
    quantizer = ResidualVectorQuantizer(dimension=8, n_q=2, bins=4)
    codes = encoder(wave[None])
    quantized = quantizer.eval()(codes, 50)
    found["encodec"] = codes[0, :, 0], quantized.codes[:, 0, :4], decoder(codes)[0, 0, :4]
    loss = decoder(encoder(wave[None])).square().mean()
    loss.backward()
    found["gradient"] = loss, next(encoder.parameters()).grad.reshape(-1)[:3]
    return found


def speech() -> Any:
    from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
    from speechbrain.nnet.losses import ctc_loss, nll_loss
    from speechbrain.nnet.RNN import LiGRU
    from speechbrain.processing.features import STFT, Filterbank, spectral_magnitude

    torch.manual_seed(0)
    wave = torch.randn(2, 1600)
    features = Filterbank(n_mels=10)(spectral_magnitude(STFT(sample_rate=16000)(wave)))
    model = ECAPA_TDNN(
        10,
        channels=[8, 8, 8],
        kernel_sizes=[3, 3, 1],
        dilations=[1, 2, 1],
        lin_neurons=4,
        attention_channels=4,
        res2net_scale=2,
    )
    embedding = model.eval()(features)
    gru = LiGRU(hidden_size=4, input_shape=[2, 11, 10], num_layers=1)
    out, _ = gru(features)
    log = torch.log_softmax(torch.randn(2, 11, 5, requires_grad=True), -1)
    losses = (
        ctc_loss(
            log, torch.tensor([[1, 2, 3], [2, 2, 4]]), torch.ones(2), torch.ones(2), blank_index=0
        ),
        nll_loss(log[:, 0], torch.tensor([1, 2])),
    )
    return features[0, 2], embedding[0, 0], out[0, 3], losses


def looks_inside() -> Any:
    from titans_pytorch import MemoryAsContextTransformer

    torch.manual_seed(0)
    model = MemoryAsContextTransformer(
        num_tokens=11,
        dim=8,
        depth=1,
        segment_len=8,
        num_persist_mem_tokens=1,
        num_longterm_mem_tokens=1,
        heads=2,
        dim_head=4,
    )
    loss = model(torch.randint(0, 11, (1, 17)), return_loss=True)
    loss.backward()
    return loss, next(p.grad for p in model.parameters() if p.grad is not None).reshape(-1)[:4]


def detection() -> Any:
    from ultralytics.nn.tasks import DetectionModel
    from ultralytics.utils.loss import v8DetectionLoss

    torch.manual_seed(0)
    # normalised over few places, which magnifies roundings
    model = DetectionModel("yolov8n.yaml", nc=3, verbose=False).double()
    x = torch.rand(1, 3, 64, 64, dtype=torch.float64)
    model.args = type("Args", (), {"box": 7.5, "cls": 0.5, "dfl": 1.5})()
    batch = {
        "batch_idx": torch.zeros(2),
        "cls": torch.tensor([[0.0], [2.0]]),
        "bboxes": torch.tensor([[0.5, 0.5, 0.4, 0.4], [0.3, 0.3, 0.2, 0.2]]),
    }
    total, parts = v8DetectionLoss(model.train())(model(x), batch)
    total.sum().backward()
    with torch.no_grad():
        out = model.eval()(x)
    return parts, next(model.parameters()).grad.reshape(-1)[:4], out[0][0, :, 0]


def saved_and_read() -> Any:
    from compressed_tensors.compressors import pack_to_int32, unpack_from_int32

    packed = pack_to_int32(torch.arange(-8, 8, dtype=torch.int8).reshape(2, 8), 4)
    with tempfile.TemporaryFile() as file:
        torch.save({"packed": packed}, file)
        file.seek(0)
        again = torch.load(file)["packed"]
    return packed, unpack_from_int32(again, 4, torch.Size([2, 8]))
