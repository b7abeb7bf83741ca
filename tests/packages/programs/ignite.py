"""Ignite: engines, events, metrics, handlers for checkpoints, early stopping, averaging and
schedules."""

from __future__ import annotations

import tempfile
from typing import Any

import torch

NEEDS = ["ignite"]


def _parts() -> Any:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    x, y = torch.randn(24, 5), torch.randint(0, 3, (24,))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 6)
    return model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), loader


def supervised_with_metrics() -> Any:
    from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.metrics import Accuracy, ConfusionMatrix, Fbeta, Loss, Precision, RunningAverage

    model, optimizer, loader = _parts()
    loss = torch.nn.CrossEntropyLoss()
    trainer = create_supervised_trainer(model, optimizer, loss)
    RunningAverage(output_transform=float).attach(trainer, "average")
    metrics: dict[str, Any] = {
        "accuracy": Accuracy(),
        "loss": Loss(loss),
        "f": Fbeta(1.0),
        "confusion": ConfusionMatrix(3),
    }
    metrics["precision"] = Precision(average=True)
    evaluator = create_supervised_evaluator(model, metrics=metrics)
    history: list[Any] = []

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine: Any) -> None:
        evaluator.run(loader)
        history.append(
            [
                engine.state.metrics["average"],
                *(evaluator.state.metrics[k] for k in sorted(metrics)),
            ]
        )

    @trainer.on(Events.ITERATION_COMPLETED(every=3))
    def count(engine: Any) -> None:
        history.append(engine.state.iteration)

    trainer.run(loader, max_epochs=2)
    return history


def handlers() -> Any:
    from ignite.engine import Engine, Events, create_supervised_evaluator
    from ignite.handlers import (
        Checkpoint,
        CosineAnnealingScheduler,
        DiskSaver,
        EarlyStopping,
        EMAHandler,
        TerminateOnNan,
    )
    from ignite.metrics import Loss

    model, optimizer, loader = _parts()
    loss = torch.nn.CrossEntropyLoss()

    def step(engine: Any, batch: Any) -> float:
        optimizer.zero_grad()
        out = loss(model(batch[0]), batch[1])
        out.backward()
        optimizer.step()
        return out.item()

    trainer = Engine(step)
    average = EMAHandler(model, momentum=0.1)
    average.attach(trainer, event=Events.ITERATION_COMPLETED)
    schedule = CosineAnnealingScheduler(optimizer, "lr", 0.1, 0.0, cycle_size=8)
    trainer.add_event_handler(Events.ITERATION_STARTED, schedule)
    trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
    evaluator = create_supervised_evaluator(model, metrics={"loss": Loss(loss)})
    evaluator.add_event_handler(
        Events.COMPLETED,
        EarlyStopping(1, lambda e: -e.state.metrics["loss"], trainer, min_delta=10.0),
    )
    with tempfile.TemporaryDirectory() as folder:
        saver = Checkpoint(
            {"model": model, "optimizer": optimizer, "trainer": trainer},
            DiskSaver(folder),
            n_saved=1,
        )
        trainer.add_event_handler(Events.EPOCH_COMPLETED, saver)
        trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: evaluator.run(loader))
        trainer.run(loader, max_epochs=5)
        other, other_optimizer, _ = _parts()
        state = torch.load(saver.last_checkpoint)
        Checkpoint.load_objects({"model": other, "optimizer": other_optimizer}, state)
    same = all(
        torch.equal(a, b) for a, b in zip(model.state_dict().values(), other.state_dict().values())
    )
    return (
        trainer.state.epoch,
        same,
        average.ema_model[0].weight[0],
        optimizer.param_groups[0]["lr"],
    )
