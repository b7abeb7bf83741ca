"""Lightning's other parts: Fabric, processes, callbacks, precisions, tuning, profilers, loaders of
several kinds and the command line."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

import torch

NEEDS = ["lightning", "torchmetrics"]


def _data(n: int = 16) -> Any:
    x = torch.randn(n, 6, generator=torch.Generator().manual_seed(2))
    return torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long())


def _loader(n: int = 16, batch: int = 4, **more: Any) -> Any:
    return torch.utils.data.DataLoader(_data(n), batch_size=batch, **more)


def _net() -> Any:
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 2)
    )


def _module(base: type | None = None) -> Any:
    import lightning.pytorch as pl

    class Net(base or pl.LightningModule):
        def __init__(self, width: int = 8, lr: float = 0.05) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.batch_size = 4
            self.backbone = torch.nn.Sequential(
                torch.nn.Linear(6, width, bias=False), torch.nn.BatchNorm1d(width), torch.nn.Tanh()
            )
            self.head = torch.nn.Linear(width, 2)
            self.example_input_array = torch.zeros(2, 6)
            self.losses: list[float] = []

        def forward(self, x: Any) -> Any:
            return self.head(self.backbone(x))

        def training_step(self, batch: Any, index: int) -> Any:
            loss = torch.nn.functional.cross_entropy(self(batch[0]), batch[1])
            self.losses.append(loss.item())
            self.log("loss", loss, on_step=True, on_epoch=True, prog_bar=True)
            return loss

        def validation_step(self, batch: Any, index: int) -> None:
            self.log(
                "val_loss",
                torch.nn.functional.cross_entropy(self(batch[0]), batch[1]),
                prog_bar=True,
            )

        def predict_step(self, batch: Any, index: int) -> Any:
            return self(batch[0])

        def train_dataloader(self) -> Any:
            return _loader(16, self.batch_size)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), self.hparams.lr, momentum=0.9)

    torch.manual_seed(0)
    return Net()


def _trainer(folder: str, **more: Any) -> Any:
    import lightning.pytorch as pl

    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    given: dict[str, Any] = {
        "default_root_dir": folder,
        "accelerator": "cpu",
        "devices": 1,
        "max_epochs": 2,
        "logger": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "enable_checkpointing": False,
        "num_sanity_val_steps": 0,
        "log_every_n_steps": 1,
    }
    return pl.Trainer(**{**given, **more})


def _weights(module: Any) -> Any:
    return {
        name: (str(value.dtype), value.double().sum())
        for name, value in module.state_dict().items()
    }


def fabric_loop() -> Any:
    from lightning.fabric import Fabric

    results: dict[str, Any] = {}
    for precision in ("32-true", "bf16-mixed", "bf16-true", "64-true", "16-true"):
        fabric = Fabric(accelerator="cpu", devices=1, precision=precision)
        fabric.seed_everything(3, verbose=False)
        with fabric.init_module():
            model = torch.nn.Sequential(
                torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
            )
        model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), 0.1))
        loader = fabric.setup_dataloaders(_loader())
        losses = []
        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            loss = torch.nn.functional.cross_entropy(out.float(), y)
            fabric.backward(loss)
            norm = fabric.clip_gradients(model, optimizer, max_norm=0.4)
            optimizer.step()
            losses.append(round(loss.item(), 2))
        results[precision] = (
            losses,
            str(out.dtype),
            str(next(model.parameters()).dtype),
            round(float(norm), 2),
        )
    return results


def fabric_checkpoints() -> Any:
    from lightning.fabric import Fabric
    from lightning.fabric.utilities.load import _lazy_load, _materialize_tensors

    with tempfile.TemporaryDirectory() as folder:
        fabric = Fabric(accelerator="cpu", devices=1)
        model = _net()
        model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), 0.1))
        for x, y in fabric.setup_dataloaders(_loader()):
            fabric.backward(torch.nn.functional.cross_entropy(model(x), y))
            optimizer.step()
            optimizer.zero_grad()
        path = os.path.join(folder, "state.ckpt")
        state = {"model": model, "optimizer": optimizer, "step": 4, "extra": {"a": [1, 2]}}
        fabric.save(path, state, filter={"model": lambda k, v: "running" not in k})
        other = _net()
        other, more = fabric.setup(other, torch.optim.AdamW(other.parameters(), 0.1))
        found: dict[str, Any] = {"model": other, "optimizer": more, "step": 0}
        rest = fabric.load(path, found, strict=False)
        lazy = _lazy_load(path)
        kinds = sorted({type(v).__name__ for v in lazy["model"].values()})
        whole = _materialize_tensors(lazy)
        with fabric.init_module(empty_init=True):
            empty = torch.nn.Linear(3, 4)
        with torch.device("meta"):
            meta = torch.nn.Linear(3, 4)
        sums = {k: v.double().sum() for k, v in whole["model"].items()}
        return (
            found["step"],
            rest,
            _weights(other),
            kinds,
            sums,
            empty.weight.shape,
            meta.weight.device.type,
        )


def _spawned(fabric: Any, folder: str) -> None:
    model = _net()
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), 0.1))
    loader = fabric.setup_dataloaders(_loader(16, 2))
    losses = []
    for i, (x, y) in enumerate(loader):
        with fabric.no_backward_sync(model, enabled=i % 2 == 0):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            fabric.backward(loss)
        if i % 2:
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    gathered = fabric.all_gather({"rank": torch.tensor(fabric.global_rank), "x": x[0]})
    summed = fabric.all_reduce(torch.tensor([1.0 + fabric.global_rank]), reduce_op="sum")
    told = fabric.broadcast(
        {"a": fabric.global_rank, "t": torch.ones(2) * fabric.global_rank}, src=1
    )
    fabric.barrier()
    fabric.save(os.path.join(folder, "ddp.ckpt"), {"model": model})
    torch.save(
        [losses, gathered, summed, told, type(loader.sampler).__name__],
        os.path.join(folder, f"{fabric.global_rank}.pt"),
    )


def fabric_in_two_processes() -> Any:
    from lightning.fabric import Fabric

    with tempfile.TemporaryDirectory() as folder:
        fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp_fork")
        fabric.launch(_spawned, folder)
        found = [
            torch.load(os.path.join(folder, f"{rank}.pt"), weights_only=False) for rank in range(2)
        ]
        return found, {
            k: v.double().sum()
            for k, v in torch.load(os.path.join(folder, "ddp.ckpt"))["model"].items()
        }


def averages_of_weights() -> Any:
    from lightning.pytorch.callbacks import EMAWeightAveraging, ModelCheckpoint, WeightAveraging

    results: list[Any] = []
    later = EMAWeightAveraging(update_starting_at_step=3, decay=0.5)
    for callback in (EMAWeightAveraging(decay=0.9), later, WeightAveraging(use_buffers=True)):
        with tempfile.TemporaryDirectory() as folder:
            module = _module()
            saving = ModelCheckpoint(folder, save_last=True)
            trainer = _trainer(folder, callbacks=[callback, saving], enable_checkpointing=True)
            trainer.fit(module, _loader(), _loader(8))
            saved = torch.load(saving.last_model_path, weights_only=False)
            seen = trainer.callback_metrics["val_loss"], sorted(saved), saved.get("averaging_state")
            results.append((module.losses, _weights(module), *seen))
    return results


def finetuning_and_pruning() -> Any:
    from lightning.pytorch.callbacks import (
        BackboneFinetuning,
        GradientAccumulationScheduler,
        ModelPruning,
    )

    results: list[Any] = []
    cases: list[Any] = [
        [BackboneFinetuning(1, backbone_initial_ratio_lr=0.5)],
        [GradientAccumulationScheduler({0: 2, 2: 4})],
        [
            ModelPruning(
                "l1_unstructured",
                amount=0.3,
                use_global_unstructured=True,
                parameter_names=["weight"],
            )
        ],
        [
            ModelPruning(
                "random_unstructured",
                amount=0.5,
                use_global_unstructured=False,
                use_lottery_ticket_hypothesis=True,
            )
        ],
    ]
    for callbacks in cases:
        with tempfile.TemporaryDirectory() as folder:
            module = _module()
            trainer = _trainer(folder, max_epochs=3, callbacks=callbacks)
            trainer.fit(module, _loader())
            groups = [
                (group["lr"], len(group["params"])) for group in trainer.optimizers[0].param_groups
            ]
            results.append((module.losses, _weights(module), groups, trainer.global_step))
    return results


def watching_callbacks() -> Any:
    from lightning.pytorch.callbacks import (
        BasePredictionWriter,
        DeviceStatsMonitor,
        LambdaCallback,
        ModelCheckpoint,
        OnExceptionCheckpoint,
        ThroughputMonitor,
        Timer,
    )
    from lightning.pytorch.loggers import CSVLogger

    class Writer(BasePredictionWriter):
        def write_on_epoch_end(
            self, trainer: Any, module: Any, predictions: Any, indices: Any
        ) -> None:
            seen.append((predictions[0][0], indices))

        def write_on_batch_end(
            self,
            trainer: Any,
            module: Any,
            prediction: Any,
            indices: Any,
            batch: Any,
            i: int,
            j: int,
        ) -> None:
            seen.append((i, indices))

    seen: list[Any] = []

    def failing(*args: Any) -> None:
        if args[-1] == 2:
            raise RuntimeError("stop")

    with tempfile.TemporaryDirectory() as folder:
        module = _module()
        named = "{epoch}-{step}-{loss:.2f}"
        saving = ModelCheckpoint(
            folder, monitor="loss", every_n_train_steps=2, save_top_k=2, filename=named, mode="max"
        )
        throughput = ThroughputMonitor(lambda batch: batch[0].shape[0], window_size=2)
        callbacks = [
            saving,
            throughput,
            DeviceStatsMonitor(),
            Timer("00:01:00:00"),
            Writer("batch_and_epoch"),
        ]
        trainer = _trainer(
            folder, callbacks=callbacks, enable_checkpointing=True, logger=CSVLogger(folder, "logs")
        )
        trainer.fit(module)
        trainer.predict(module, _loader(8))
        kept = sorted(os.path.basename(k) for k in saving.best_k_models)
        last = OnExceptionCheckpoint(folder, "failed")
        again = _module()
        with contextlib.suppress(RuntimeError):
            stopping = LambdaCallback(on_train_batch_end=failing)
            _trainer(folder, callbacks=[last, stopping], enable_checkpointing=True).fit(again)
        stored = torch.load(last.ckpt_path, weights_only=False)
        return (
            seen,
            kept,
            saving.best_model_score,
            stored["global_step"],
            stored["loops"]["fit_loop"]["epoch_progress"],
            sorted(stored),
        )


def tuning() -> Any:
    import lightning.pytorch as pl

    with tempfile.TemporaryDirectory() as folder:
        module = _module()
        tuner = pl.tuner.Tuner(_trainer(folder, max_epochs=1))
        found = tuner.lr_find(
            module, val_dataloaders=_loader(8), min_lr=1e-4, max_lr=1.0, num_training=12
        )
        size = tuner.scale_batch_size(
            _module(),
            val_dataloaders=_loader(8),
            mode="power",
            init_val=2,
            max_trials=2,
            steps_per_trial=1,
        )
        return found.results, found.suggestion(skip_begin=2, skip_end=1), size, _weights(module)


def precisions() -> Any:
    results: dict[str, Any] = {}
    for precision in ("bf16-true", "64-true", "16-true", "bf16-mixed"):
        with tempfile.TemporaryDirectory() as folder:
            module = _module()
            trainer = _trainer(
                folder,
                precision=precision,
                max_epochs=1,
                gradient_clip_val=0.5,
                gradient_clip_algorithm="value",
            )
            with trainer.init_module():
                made = torch.nn.Linear(2, 2).weight.dtype
            data = _loader()
            trainer.fit(module, data)
            out = trainer.predict(module, _loader(8))[0]
            results[precision] = (
                [round(v, 1) for v in module.losses],
                str(out.dtype),
                str(made),
                str(torch.get_default_dtype()),
            )
    return results


def profilers() -> Any:
    from lightning.pytorch.profilers import AdvancedProfiler, PyTorchProfiler, SimpleProfiler

    results: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in (SimpleProfiler, AdvancedProfiler, PyTorchProfiler):
            more = (
                {"export_to_chrome": True, "record_module_names": True, "row_limit": 200}
                if kind is PyTorchProfiler
                else {}
            )
            profiler = kind(dirpath=folder, filename=kind.__name__, **more)
            module = _module()
            _trainer(folder, profiler=profiler, max_epochs=1, limit_train_batches=3).fit(
                module, _loader(), _loader(8)
            )
            texts = {path.name: path.read_text() for path in sorted(Path(folder).glob("*.txt"))}
            wanted = (
                "run_training_batch",
                "optimizer_step",
                "training_step",
                "backbone",
                "backward",
                "ProfilerStep*",
            )
            results.append(
                {name: [word for word in wanted if word in text] for name, text in texts.items()}
            )
            results.append([name.split(".")[-1] for name in sorted(os.listdir(folder))])
    return results


def loaders_of_several_kinds() -> Any:
    import lightning.pytorch as pl
    from lightning.pytorch.utilities import CombinedLoader

    class Data(pl.LightningDataModule):
        calls: list[str] = []

        def prepare_data(self) -> None:
            self.calls.append("prepare")

        def setup(self, stage: str) -> None:
            self.calls.append(f"setup {stage}")

        def train_dataloader(self) -> Any:
            self.calls.append("train")
            return {
                "a": _loader(16),
                "b": [_loader(8, shuffle=True, generator=torch.Generator().manual_seed(5))],
            }

        def val_dataloader(self) -> Any:
            return [_loader(8), _loader(12)]

        def transfer_batch_to_device(self, batch: Any, device: Any, index: int) -> Any:
            self.calls.append(f"to {device}") if index == 1 else None
            return super().transfer_batch_to_device(batch, device, index)

        def on_after_batch_transfer(self, batch: Any, index: int) -> Any:
            return batch

        def teardown(self, stage: str) -> None:
            self.calls.append(f"teardown {stage}")

    class Net(type(_module())):  # type: ignore[misc]
        def training_step(self, batch: Any, index: int) -> Any:
            x, y = batch["a"]
            (z, _) = batch["b"][0]
            return super().training_step((x + z, y), index)

        def validation_step(self, batch: Any, index: int, dataloader_idx: int = 0) -> None:
            self.log("val", self(batch[0]).mean(), add_dataloader_idx=True)

    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        module, data = Net(), Data()
        trainer = _trainer(folder)
        trainer.fit(module, data)
        modes = {}
        for mode in ("min_size", "max_size", "max_size_cycle", "sequential"):
            combined = CombinedLoader({"x": _loader(8), "y": _loader(12)}, mode)
            modes[mode] = [
                (i, j, mode == "sequential" or [None if v is None else v[1] for v in b.values()])
                for b, i, j in combined
            ]
        return module.losses, data.calls, trainer.callback_metrics, modes


def overfitting_and_anomalies() -> Any:
    results: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        module = _module()
        _trainer(folder, overfit_batches=2, check_val_every_n_epoch=1).fit(
            module, _loader(), _loader(8)
        )
        results.append(module.losses)

        class Wrong(type(_module())):  # type: ignore[misc]
            def training_step(self, batch: Any, index: int) -> Any:
                return (self(batch[0]) * 0.0).sqrt().sum() * 0.0

        for options in ({"detect_anomaly": True}, {}):
            try:
                _trainer(folder, **options).fit(Wrong(), _loader())
                results.append("no error")
            except RuntimeError as error:
                results.append(str(error))
        module = _module()
        trainer = _trainer(
            folder,
            barebones=True,
            max_epochs=1,
            enable_checkpointing=None,
            logger=None,
            log_every_n_steps=None,
        )
        trainer.fit(module, _loader())
        results.append(module.losses)
        module = _module()
        module.configure_model = lambda: None
        trainer = _trainer(
            folder,
            max_steps=5,
            max_epochs=-1,
            val_check_interval=2,
            limit_val_batches=1,
            inference_mode=False,
        )
        trainer.fit(module, _loader(), _loader(8))
        results.append(
            (
                module.losses,
                trainer.global_step,
                trainer.current_epoch,
                trainer.callback_metrics["val_loss"],
            )
        )
    return results


def summaries_and_norms() -> Any:
    from lightning.fabric.utilities.throughput import measure_flops
    from lightning.pytorch.utilities import grad_norm
    from lightning.pytorch.utilities.model_summary import ModelSummary

    module = _module()
    summary = ModelSummary(module, max_depth=-1)
    module(torch.ones(3, 6)).sum().backward()
    with torch.device("meta"):
        model, x = (
            torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2)),
            torch.randn(2, 32),
        )
    forward = measure_flops(model, lambda: model(x))
    both = measure_flops(model, lambda: model(x), lambda y: y.sum())
    return (
        str(summary),
        summary.total_parameters,
        grad_norm(module, 2),
        forward,
        both,
        module.dtype is torch.float32,
        str(module.device),
    )


def resuming_in_the_middle() -> Any:
    from lightning.pytorch.callbacks import ModelCheckpoint
    from lightning.pytorch.plugins.io import AsyncCheckpointIO

    class Scheduled(type(_module())):  # type: ignore[misc]
        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters(), self.hparams.lr)
            plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
            scheduler = {
                "scheduler": plateau,
                "monitor": "val_loss",
                "interval": "epoch",
                "frequency": 1,
            }
            return [optimizer], [scheduler]

        def lr_scheduler_step(self, scheduler: Any, metric: Any) -> None:
            super().lr_scheduler_step(scheduler, metric)

    def made() -> Any:
        torch.manual_seed(0)
        return Scheduled()

    with tempfile.TemporaryDirectory() as folder:
        whole = made()
        _trainer(folder, max_epochs=3).fit(whole, _loader(), _loader(8))
        first = made()
        saving = ModelCheckpoint(folder, save_top_k=-1, every_n_train_steps=3, filename="{step}")
        options = {
            "callbacks": [saving],
            "enable_checkpointing": True,
            "plugins": [AsyncCheckpointIO()],
        }
        _trainer(folder, max_steps=6, max_epochs=-1, **options).fit(first, _loader(), _loader(8))
        second = made()
        trainer = _trainer(folder, max_epochs=3)
        trainer.fit(second, _loader(), _loader(8), ckpt_path=os.path.join(folder, "step=6.ckpt"))
        names = sorted(name for name in os.listdir(folder) if name.endswith("ckpt"))
        return (
            whole.losses,
            first.losses,
            second.losses,
            names,
            trainer.lr_scheduler_configs[0].scheduler.state_dict(),
        )


def command_line() -> Any:
    from lightning.pytorch.cli import LightningCLI

    base = type(_module())
    with tempfile.TemporaryDirectory() as folder:
        trainer = {
            "max_epochs": 1,
            "accelerator": "cpu",
            "logger": "false",
            "enable_progress_bar": "false",
            "default_root_dir": folder,
        }
        trainer |= {"enable_model_summary": "false", "enable_checkpointing": "false"}
        arguments = [
            "fit",
            "--model.width=4",
            "--optimizer=Adam",
            "--optimizer.lr=0.02",
            "--lr_scheduler=StepLR",
        ]
        arguments += [
            "--lr_scheduler.step_size=1",
            *(f"--trainer.{name}={value}" for name, value in trainer.items()),
        ]

        class Plain(base):  # type: ignore[misc,valid-type]
            configure_optimizers = None

            def __init__(self, width: int = 8) -> None:
                super().__init__(width)

        with contextlib.redirect_stdout(io.StringIO()):
            cli = LightningCLI(Plain, seed_everything_default=1, args=arguments)
        optimizer = cli.trainer.optimizers[0]
        return (
            cli.model.losses,
            type(optimizer).__name__,
            optimizer.param_groups[0]["lr"],
            cli.config["fit"]["model"]["width"],
        )


def _two() -> type:
    import lightning.pytorch as pl

    class Two(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.body = torch.nn.Sequential(
                torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
            )

        def training_step(self, batch: Any, index: int) -> Any:
            loss = torch.nn.functional.cross_entropy(self.body(batch[0]), batch[1])
            self.log("loss", loss, on_epoch=True, sync_dist=True)
            return loss

        def validation_step(self, batch: Any, index: int) -> None:
            gathered = self.all_gather(torch.tensor(float(self.global_rank + 1)))
            self.log("ranks", gathered.sum())
            self.log(
                "val",
                torch.nn.functional.cross_entropy(self.body(batch[0]), batch[1]),
                sync_dist=True,
            )

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    return Two


def trainer_in_two_processes() -> Any:
    from lightning.pytorch.strategies import DDPStrategy

    results: list[Any] = []
    for strategy in ("ddp_fork", DDPStrategy(start_method="fork", find_unused_parameters=True)):
        with tempfile.TemporaryDirectory() as folder:
            module = _two()()
            options = {
                "devices": 2,
                "strategy": strategy,
                "sync_batchnorm": False,
                "accumulate_grad_batches": 2,
            }
            trainer = _trainer(folder, **options)
            trainer.fit(module, _loader(16, 2), _loader(8, 2))
            results.append((_weights(module), trainer.callback_metrics, trainer.global_step))
    return results
