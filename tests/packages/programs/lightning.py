"""Lightning: fit, validate, test and predict with checkpoints, callbacks, loggers, accumulation and
manual optimisation."""

from __future__ import annotations

import logging
import tempfile
from typing import Any

import torch

NEEDS = ["pytorch_lightning", "torchmetrics"]


def _loader(n: int = 16, workers: int = 0) -> Any:
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(n, 6, generator=generator)
    return torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long()), 4, num_workers=workers
    )


def _module(**options: Any) -> Any:
    import pytorch_lightning as pl
    import torchmetrics

    class Net(pl.LightningModule):
        def __init__(self, width: int = 8, lr: float = 0.05) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.body = torch.nn.Sequential(
                torch.nn.Linear(6, width), torch.nn.Tanh(), torch.nn.Linear(width, 2)
            )
            self.accuracy = torchmetrics.Accuracy("multiclass", num_classes=2)
            self.losses: list[float] = []

        def forward(self, x: Any) -> Any:
            return self.body(x)

        def training_step(self, batch: Any, index: int) -> Any:
            loss = torch.nn.functional.cross_entropy(self(batch[0]), batch[1])
            self.losses.append(loss.item())
            self.log("loss", loss, on_step=True, on_epoch=True)
            return loss

        def validation_step(self, batch: Any, index: int) -> None:
            out = self(batch[0])
            self.log("val_loss", torch.nn.functional.cross_entropy(out, batch[1]))
            self.accuracy(out, batch[1])
            self.log("val_accuracy", self.accuracy)

        test_step = validation_step

        def predict_step(self, batch: Any, index: int) -> Any:
            return self(batch[0]).softmax(-1)

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters(), self.hparams.lr)
            return {
                "optimizer": optimizer,
                "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5),
            }

    torch.manual_seed(0)
    return Net(**options)


def _trainer(folder: str, **more: Any) -> Any:
    import pytorch_lightning as pl

    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    given: dict[str, Any] = {
        "default_root_dir": folder,
        "accelerator": "cpu",
        "max_epochs": 2,
        "logger": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "enable_checkpointing": False,
        "num_sanity_val_steps": 0,
        "log_every_n_steps": 1,
    }
    return pl.Trainer(**{**given, **more})


def fit_validate_test_predict() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        module, trainer = _module(), _trainer(folder, gradient_clip_val=0.5)
        trainer.fit(module, _loader(), _loader(8))
        validated = trainer.validate(module, _loader(8), verbose=False)
        tested = trainer.test(module, _loader(8), verbose=False)
        return module.losses, validated, tested, trainer.predict(module, _loader(8))[0]


def checkpoints_and_resuming() -> Any:
    from pytorch_lightning.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
    from pytorch_lightning.loggers import CSVLogger

    with tempfile.TemporaryDirectory() as folder:
        saving = ModelCheckpoint(
            folder, monitor="val_loss", save_top_k=1, filename="best", save_last=True
        )
        callbacks = [saving, EarlyStopping("val_loss", patience=1), LearningRateMonitor()]
        module = _module(width=4)
        trainer = _trainer(
            folder, callbacks=callbacks, enable_checkpointing=True, logger=CSVLogger(folder, "logs")
        )
        trainer.fit(module, _loader(), _loader(8))
        loaded = type(module).load_from_checkpoint(saving.best_model_path)
        same = all(
            torch.equal(a, b)
            for a, b in zip(loaded.state_dict().values(), module.state_dict().values())
        )
        again = _module(width=4)
        more = _trainer(folder, max_epochs=3)
        more.fit(again, _loader(), _loader(8), ckpt_path=saving.last_model_path)
        return (
            loaded.hparams["width"],
            same,
            float(saving.best_model_score),
            again.losses,
            more.current_epoch,
        )


def accumulation_and_bfloat16() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        module = _module()
        trainer = _trainer(
            folder,
            accumulate_grad_batches=2,
            precision="bf16-mixed",
            max_epochs=1,
            limit_train_batches=3,
        )
        trainer.fit(module, _loader())
        return [round(loss, 2) for loss in module.losses], trainer.global_step


def manual_optimisation_and_hooks() -> Any:
    import pytorch_lightning as pl

    calls: list[str] = []

    class Watch(pl.Callback):
        def on_train_batch_end(self, trainer: Any, module: Any, *args: Any) -> None:
            calls.append(f"batch {trainer.global_step}")

        def on_fit_end(self, trainer: Any, module: Any) -> None:
            calls.append("end")

    class Two(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.automatic_optimization = False
            self.a, self.b = torch.nn.Linear(6, 2), torch.nn.Linear(6, 2)

        def training_step(self, batch: Any, index: int) -> None:
            first, second = self.optimizers()
            for layer, optimizer in ((self.a, first), (self.b, second)):
                self.toggle_optimizer(optimizer)
                loss = torch.nn.functional.cross_entropy(layer(batch[0]), batch[1])
                optimizer.zero_grad()
                self.manual_backward(loss)
                optimizer.step()
                self.untoggle_optimizer(optimizer)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.a.parameters(), 0.1), torch.optim.SGD(
                self.b.parameters(), 0.2
            )

    with tempfile.TemporaryDirectory() as folder:
        module = Two()
        _trainer(folder, max_epochs=1, callbacks=[Watch()]).fit(module, _loader())
        return calls, module.a.weight[0], module.b.weight[0]


def averaged_weights_with_workers() -> Any:
    from pytorch_lightning.callbacks import StochasticWeightAveraging

    with tempfile.TemporaryDirectory() as folder:
        module = _module()
        _trainer(
            folder, max_epochs=3, callbacks=[StochasticWeightAveraging(0.01, swa_epoch_start=1)]
        ).fit(module, _loader(8, workers=1))
        return module.losses, module.body[0].weight[0]
