"""TRL: supervised fine-tuning, preferences, rewards and reinforcement on small language models,
with adapters and resuming."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import torch

NEEDS = ["trl", "transformers", "datasets", "peft", "accelerate"]

_WORDS = (
    "the a cat dog bird sees likes hears red blue small big one two house tree yes no good bad is "
    "what ? . user assistant :"
).split()

_CHAT = (
    "{% for m in messages %}{{ m['role'] }} : {% if m['role'] == 'assistant' %}{% generation %}{{ "
    "m['content'] }} . {% endgeneration %}{% else %}{{ m['content'] }} . {% endif %}{% endfor %}{% "
    "if add_generation_prompt %}assistant : {% endif %}"
)


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "<unk>", "<eos>", *_WORDS]
    inner = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>")
    )
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", unk_token="<unk>", eos_token="<eos>"
    )
    made.chat_template = _CHAT
    return made


def _config(**more: Any) -> Any:
    from transformers import LlamaConfig

    sizes = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    }
    given = {
        "vocab_size": len(_WORDS) + 3,
        "max_position_embeddings": 64,
        "pad_token_id": 0,
        "bos_token_id": None,
        "eos_token_id": 2,
    }
    return LlamaConfig(**{**sizes, **given, **more})


def _model(head: str = "CausalLM", seed: int = 0, **more: Any) -> Any:
    import transformers

    torch.manual_seed(seed)
    classes = {
        "CausalLM": transformers.LlamaForCausalLM,
        "Classification": transformers.LlamaForSequenceClassification,
    }
    return classes[head](_config(initializer_range=0.2, **more))


def _stored(folder: str) -> Any:
    """A model that knows where it was read from: what it is compared with is read from there
    again."""
    from transformers import LlamaForCausalLM

    at = os.path.join(folder, "model")
    _model().save_pretrained(at)
    return LlamaForCausalLM.from_pretrained(at)


def _sentences(n: int, seed: int = 1, length: int = 6) -> list[str]:
    import random

    drawn = random.Random(seed)
    return [
        " ".join(drawn.choice(_WORDS[:19]) for _ in range(drawn.randint(3, length)))
        for _ in range(n)
    ]


def _said(question: str, answer: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def _set(**columns: Any) -> Any:
    from datasets import Dataset

    return Dataset.from_dict(columns)


def _preferences(n: int = 8) -> Any:
    return _set(prompt=_sentences(n, 1), chosen=_sentences(n, 2), rejected=_sentences(n, 3))


@contextlib.contextmanager
def _options(kind: Any, **more: Any) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        given: dict[str, Any] = {
            "output_dir": folder,
            "per_device_train_batch_size": 2,
            "max_steps": 3,
            "learning_rate": 0.01,
            "logging_steps": 1,
            "report_to": "none",
            "save_strategy": "no",
            "disable_tqdm": True,
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
        }
        yield kind(**{**given, **more})


_CLOCKS = ("time", "runtime", "per_second", "flos", "duration")


def _trained(trainer: Any) -> Any:
    trainer.train()
    logs = [
        {k: v for k, v in log.items() if not any(word in k for word in _CLOCKS)}
        for log in trainer.state.log_history
    ]
    return logs, sum(p.detach().double().abs().sum() for p in trainer.model.parameters())


def supervised() -> Any:
    from trl import SFTConfig, SFTTrainer

    texts = _set(text=_sentences(12))
    pairs = _set(prompt=_sentences(8, 1), completion=_sentences(8, 2))
    chats = _set(
        messages=[_said(a, b) + _said(b, a) for a, b in zip(_sentences(8, 1), _sentences(8, 2))]
    )
    cases: dict[str, Any] = {
        "text": (texts, {"eval_strategy": "steps", "eval_steps": 2}),
        "packed": (texts, {"packing": True, "packing_strategy": "wrapped", "max_length": 8}),
        "completions": (pairs, {"completion_only_loss": True, "gradient_accumulation_steps": 2}),
        "assistant": (chats, {"assistant_only_loss": True, "max_length": 32}),
        "dft": (pairs, {"loss_type": "dft", "gradient_checkpointing": True}),
        "chunked": (pairs, {"loss_type": "chunked_nll"}),
        "bfloat16": (texts, {"bf16": True}),
    }
    results: dict[str, Any] = {}
    for name, (data, more) in cases.items():
        with _options(SFTConfig, **more) as args:
            trainer = SFTTrainer(
                _model(), args, train_dataset=data, eval_dataset=data, processing_class=_tokenizer()
            )
            results[name] = _trained(trainer)
    half, whole = (
        [log["loss"] for log in results[name][0] if "loss" in log] for name in ("bfloat16", "text")
    )
    results["bfloat16"] = [abs(a - b) < 0.05 for a, b in zip(half, whole)]
    return results


def adapted_and_resumed() -> Any:
    from peft import LoraConfig
    from trl import SFTConfig, SFTTrainer

    data = _set(text=_sentences(12))

    def trainer(args: Any) -> Any:
        lora = LoraConfig(
            r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"
        )
        return SFTTrainer(
            _model(), args, train_dataset=data, processing_class=_tokenizer(), peft_config=lora
        )

    with _options(SFTConfig, max_steps=4, save_strategy="steps", save_steps=2) as args:
        first = trainer(args)
        whole = _trained(first)
        saved = sorted(os.listdir(os.path.join(args.output_dir, "checkpoint-2")))
        second = trainer(args)
        second.train(resume_from_checkpoint=os.path.join(args.output_dir, "checkpoint-2"))
        merged = first.model.merge_and_unload()
        same = [
            torch.equal(a, b) for a, b in zip(first.model.parameters(), second.model.parameters())
        ]
        return (
            whole,
            saved,
            [log.get("loss") for log in second.state.log_history],
            all(same),
            merged(torch.tensor([[3, 4, 5]])).logits,
        )


def direct_preferences() -> Any:
    from peft import LoraConfig
    from trl import DPOConfig, DPOTrainer

    results: dict[str, Any] = {}
    cases: dict[str, Any] = {
        "sigmoid": {},
        "ipo": {"loss_type": "ipo"},
        "several": {"loss_type": ["sigmoid", "bco_pair", "sft"], "loss_weights": [0.8, 0.2, 1.0]},
        "precomputed": {"precompute_ref_log_probs": True},
        "weighted": {"use_weighting": True, "f_divergence_type": "js_divergence"},
        "synced": {"sync_ref_model": True, "ref_model_sync_steps": 1},
        "apo": {"loss_type": "apo_zero", "ld_alpha": 0.5},
        "adapters": {},
    }
    for name, more in cases.items():
        with _options(DPOConfig, beta=0.3, **more) as args:
            peft = (
                LoraConfig(r=4, target_modules=["q_proj"], task_type="CAUSAL_LM")
                if name == "adapters"
                else None
            )
            ref = None if name == "adapters" else _model(seed=1)
            trainer = DPOTrainer(
                _model(),
                ref,
                args,
                train_dataset=_preferences(),
                processing_class=_tokenizer(),
                peft_config=peft,
            )
            results[name] = _trained(trainer)
    return results


def _letters(completions: list[str], **more: Any) -> list[float]:
    return [text.count("a") / (1 + len(text)) for text in completions]


def group_relative() -> Any:
    from trl import GRPOConfig, GRPOTrainer

    results: dict[str, Any] = {}
    cases: dict[str, Any] = {
        "grpo": {"beta": 0.1},
        "dapo": {"loss_type": "dapo", "epsilon_high": 0.28, "num_iterations": 2},
        "dr_grpo": {
            "loss_type": "dr_grpo",
            "scale_rewards": False,
            "top_k": 5,
            "top_p": 0.9,
            "top_entropy_quantile": 0.5,
        },
        "gspo": {"importance_sampling_level": "sequence", "steps_per_generation": 2},
        "cispo": {"loss_type": "cispo", "mask_truncated_completions": True, "delta": 2.0},
    }
    for name, more in cases.items():
        with _options(
            GRPOConfig, num_generations=2, max_completion_length=6, temperature=0.9, **more
        ) as args:
            data = _set(prompt=_sentences(6))
            trainer = GRPOTrainer(
                _stored(args.output_dir),
                [_letters],
                args,
                train_dataset=data,
                processing_class=_tokenizer(),
            )
            results[name] = _trained(trainer)
    return results


def rewards_and_reinforcement() -> Any:
    from trl import RewardConfig, RewardTrainer, RLOOConfig, RLOOTrainer

    results: dict[str, Any] = {}
    with _options(RewardConfig, center_rewards_coefficient=0.01) as args:
        data = _set(chosen=_sentences(8, 2), rejected=_sentences(8, 3))
        model = _model("Classification", num_labels=1)
        judge = RewardTrainer(
            model, args, train_dataset=data, eval_dataset=data, processing_class=_tokenizer()
        )
        results["reward"] = (
            _trained(judge),
            {k: v for k, v in judge.evaluate().items() if not any(word in k for word in _CLOCKS)},
        )
    with _options(RLOOConfig, num_generations=2, max_completion_length=5, beta=0.05) as args:
        data = _set(prompt=_sentences(6))
        trainer = RLOOTrainer(
            _stored(args.output_dir),
            [_letters, judge.model],
            args,
            train_dataset=data,
            processing_class=_tokenizer(),
            reward_processing_classes=[None, _tokenizer()],
        )
        results["rloo"] = _trained(trainer)
    return results


def unpaired_and_reference_free() -> Any:
    from trl import KTOConfig, KTOTrainer
    from trl.experimental.cpo import CPOConfig, CPOTrainer
    from trl.experimental.orpo import ORPOConfig, ORPOTrainer

    results: dict[str, Any] = {}
    labelled = _set(
        prompt=_sentences(8, 1), completion=_sentences(8, 2), label=[i % 2 == 0 for i in range(8)]
    )
    with _options(KTOConfig, per_device_train_batch_size=4, desirable_weight=1.2) as args:
        trainer = KTOTrainer(
            _model(), _model(seed=1), args, train_dataset=labelled, processing_class=_tokenizer()
        )
        results["kto"] = _trained(trainer)
    with _options(ORPOConfig, max_length=16) as args:
        results["orpo"] = _trained(
            ORPOTrainer(_model(), args, train_dataset=_preferences(), processing_class=_tokenizer())
        )
    for loss in ("simpo", "alphapo"):
        with _options(CPOConfig, max_length=16, loss_type=loss) as args:
            results[loss] = _trained(
                CPOTrainer(
                    _model(), args, train_dataset=_preferences(), processing_class=_tokenizer()
                )
            )
    return results


def distillation() -> Any:
    from trl.experimental.gkd import GKDConfig, GKDTrainer

    chats = [_said(a, b) for a, b in zip(_sentences(8, 1), _sentences(8, 2))]
    results: dict[str, Any] = {}
    for lam in (0.0, 1.0):
        with _options(GKDConfig, lmbda=lam, beta=0.3, max_new_tokens=4, max_length=24) as args:
            trainer = GKDTrainer(
                _model(),
                _model(seed=1),
                args,
                train_dataset=_set(messages=chats),
                processing_class=_tokenizer(),
            )
            results[str(lam)] = _trained(trainer)
    return results


def averaged_weights() -> Any:
    from trl import SFTConfig, SFTTrainer
    from trl.trainer.callbacks import BEMACallback

    with _options(SFTConfig, max_steps=4) as args:
        callback = BEMACallback(update_freq=1, update_after=1)
        trainer = SFTTrainer(
            _model(),
            args,
            train_dataset=_set(text=_sentences(12)),
            processing_class=_tokenizer(),
            callbacks=[callback],
        )
        return _trained(trainer), sum(
            p.double().abs().sum() for p in callback.running_model.parameters()
        )
