"""Hugging Face: ``Trainer`` with accumulation, evaluation and resuming, ``accelerate``, and weights
read without a copy."""

from __future__ import annotations

import tempfile
from typing import Any

import torch

NEEDS = ["transformers", "accelerate", "safetensors"]


class _Rows(torch.utils.data.Dataset[Any]):
    def __init__(self, n: int = 24) -> None:
        generator = torch.Generator().manual_seed(1)
        self.x = torch.randint(0, 40, (n, 8), generator=generator)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.x[i], "labels": self.x[i]}


def _model() -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=40,
            n_positions=16,
            n_embd=16,
            n_layer=2,
            n_head=2,
            resid_pdrop=0.0,
            attn_pdrop=0.0,
        )
    )


def _arguments(folder: str, **more: Any) -> Any:
    from transformers import TrainingArguments

    given: dict[str, Any] = {
        "output_dir": folder,
        "per_device_train_batch_size": 4,
        "learning_rate": 1e-2,
        "max_steps": 4,
        "logging_steps": 1,
        "report_to": [],
        "use_cpu": True,
        "disable_tqdm": True,
        "save_strategy": "no",
    }
    return TrainingArguments(**{**given, **more})


def _losses(trainer: Any) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def accumulated_with_warmup() -> Any:
    from transformers import Trainer

    with tempfile.TemporaryDirectory() as folder:
        arguments = _arguments(
            folder,
            gradient_accumulation_steps=2,
            warmup_steps=2,
            lr_scheduler_type="cosine",
            weight_decay=0.1,
        )
        trainer = Trainer(
            model=_model(), args=arguments, train_dataset=_Rows(), eval_dataset=_Rows(8)
        )
        trainer.train()
        norms = [entry["grad_norm"] for entry in trainer.state.log_history if "grad_norm" in entry]
        return _losses(trainer), trainer.evaluate()["eval_loss"], norms


def resumed_from_a_checkpoint() -> Any:
    from transformers import Trainer

    with tempfile.TemporaryDirectory() as folder:
        arguments = _arguments(folder, save_strategy="steps", save_steps=2)
        first = Trainer(model=_model(), args=arguments, train_dataset=_Rows())
        first.train()
        second = Trainer(
            model=_model(), args=_arguments(folder, max_steps=6), train_dataset=_Rows()
        )
        second.train(resume_from_checkpoint=f"{folder}/checkpoint-2")
        return _losses(first), _losses(second)


def half_precision_and_checkpointed_activations() -> Any:
    from transformers import Trainer

    with tempfile.TemporaryDirectory() as folder:
        arguments = _arguments(folder, bf16=True, gradient_checkpointing=True, max_steps=2)
        trainer = Trainer(model=_model(), args=arguments, train_dataset=_Rows())
        trainer.train()
        return [round(loss, 2) for loss in _losses(trainer)]


def metrics_and_predictions() -> Any:
    import numpy as np
    from transformers import Trainer, TrainerCallback

    class Stop(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            control.should_training_stop = state.global_step >= 3

    def accuracy(given: Any) -> dict[str, float]:
        return {
            "accuracy": float(
                np.mean(given.predictions.argmax(-1)[:, :-1] == given.label_ids[:, 1:])
            )
        }

    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=_model(),
            args=_arguments(folder),
            train_dataset=_Rows(),
            eval_dataset=_Rows(8),
            compute_metrics=accuracy,
            callbacks=[Stop()],
        )
        trainer.train()
        predicted = trainer.predict(_Rows(8))
        return (
            trainer.state.global_step,
            predicted.metrics["test_accuracy"],
            predicted.predictions[0, 0, :4],
        )


def accelerated_loop() -> Any:
    from accelerate import Accelerator
    from accelerate.utils import set_seed

    set_seed(3)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model, optimizer = torch.nn.Linear(8, 4), None
    optimizer = torch.optim.AdamW(model.parameters(), 0.05)
    data = torch.utils.data.TensorDataset(torch.randn(24, 8), torch.randint(0, 4, (24,)))
    loader = torch.utils.data.DataLoader(data, 4, shuffle=True)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=4)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    losses = []
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(2):
            for x, y in loader:
                with accelerator.accumulate(model):
                    loss = torch.nn.functional.cross_entropy(model(x), y)
                    accelerator.backward(loss)
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    scheduler.step()
                    optimizer.zero_grad()
                losses.append(accelerator.gather(loss.detach()).mean().item())
            if epoch == 0:
                accelerator.save_state(folder)
        accelerator.load_state(folder)
    return losses, accelerator.unwrap_model(model).weight[0], scheduler.get_last_lr()


def weights_without_a_copy() -> Any:
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file
    from transformers import GPT2LMHeadModel

    with tempfile.TemporaryDirectory() as folder:
        model = _model()
        model.save_pretrained(folder)
        again = GPT2LMHeadModel.from_pretrained(folder, low_cpu_mem_usage=True, device_map="cpu")
        same = all(
            torch.equal(a, b)
            for a, b in zip(model.state_dict().values(), again.state_dict().values())
        )
        tensors = {
            "a": torch.arange(6.0).reshape(2, 3).to(torch.bfloat16),
            "b": torch.ones(2, dtype=torch.int8),
        }
        save_file(tensors, f"{folder}/x.safetensors")
        with safe_open(f"{folder}/x.safetensors", "pt") as file:
            piece = file.get_slice("a")[:, 1:]
        loaded = load_file(f"{folder}/x.safetensors")
        ids = torch.tensor([[1, 2, 3]])
        tied = again.lm_head.weight is again.transformer.wte.weight
        return (
            same,
            piece,
            {k: str(v.dtype) for k, v in loaded.items()},
            again(ids).logits[0, 0, :4],
            tied,
        )
