"""AdapterHub's adapters: each method trained in small models, composed, fused, merged, averaged,
saved and loaded, with several heads."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import torch

NEEDS = ["adapters", "transformers"]


def _bert(kind: str = "auto", **more: Any) -> Any:
    import adapters
    import transformers

    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 37,
        "vocab_size": 40,
    }
    torch.manual_seed(0)
    config = transformers.BertConfig(
        **sizes, max_position_embeddings=40, hidden_dropout_prob=0.1, initializer_range=0.1, **more
    )
    if kind == "auto":
        return adapters.AutoAdapterModel.from_config(config)
    model = transformers.BertForSequenceClassification(config)
    adapters.init(model)
    return model


def _llama() -> Any:
    import adapters
    import transformers

    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 64,
    }
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        **sizes, vocab_size=40, max_position_embeddings=64, pad_token_id=0, initializer_range=0.1
    )
    model = transformers.LlamaForCausalLM(config)
    adapters.init(model)
    return model


def _t5() -> Any:
    import adapters
    import transformers

    torch.manual_seed(0)
    config = transformers.T5Config(
        d_model=32,
        d_kv=8,
        d_ff=37,
        num_layers=2,
        num_heads=4,
        vocab_size=40,
        decoder_start_token_id=0,
    )
    model = transformers.T5ForConditionalGeneration(config)
    adapters.init(model)
    return model


def _vit() -> Any:
    import adapters
    import transformers

    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 37,
    }
    torch.manual_seed(0)
    config = transformers.ViTConfig(**sizes, image_size=16, patch_size=8, num_labels=3)
    model = transformers.ViTForImageClassification(config)
    adapters.init(model)
    return model


def _ids(rows: int = 4, columns: int = 7) -> torch.Tensor:
    return torch.randint(3, 40, (rows, columns), generator=torch.Generator().manual_seed(1))


def _steps(model: Any, count: int = 3, **inputs: Any) -> Any:
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, 0.01)
    losses = []
    for _ in range(count):
        loss = model(**inputs).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return (
        losses,
        sum(p.numel() for p in trained),
        sum(p.detach().double().abs().sum() for p in trained),
    )


def _methods() -> dict[str, Any]:
    import adapters as a

    return {
        "seq_bn": a.SeqBnConfig(reduction_factor=4),
        "gated": a.SeqBnConfig(reduction_factor=4, use_gating=True, dropout=0.1, phm_dim=2),
        "double_inv": a.DoubleSeqBnInvConfig(reduction_factor=4),
        "par_bn": a.ParBnConfig(reduction_factor=4, scaling="learned"),
        "plus": a.AdapterPlusConfig(reduction_factor=4, stochastic_depth=0.0),
        "compacter": a.CompacterConfig(reduction_factor=4, phm_dim=2),
        "compacter++": a.CompacterPlusPlusConfig(
            reduction_factor=4, phm_dim=2, factorized_phm_rule=True
        ),
        "prefix": a.PrefixTuningConfig(prefix_length=5, bottleneck_size=16),
        "flat_prefix": a.PrefixTuningConfig(prefix_length=5, flat=True, use_gating=True),
        "prompt": a.PromptTuningConfig(prompt_length=4),
        "lora": a.LoRAConfig(r=4, alpha=8, dropout=0.1, intermediate_lora=True, output_lora=True),
        "gated_lora": a.LoRAConfig(r=4, use_gating=True),
        "dora": a.LoRAConfig(r=4, use_dora=True),
        "vera": a.LoRAConfig(r=4, vera_d=0.1, vera_b=0.0),
        "ia3": a.IA3Config(),
        "gated_ia3": a.IA3Config(use_gating=True),
        "loreft": a.LoReftConfig(r=2),
        "noreft": a.NoReftConfig(r=2, prefix_positions=2, suffix_positions=1),
        "direft": a.DiReftConfig(r=2, tied_weights=True),
        "mam": a.MAMConfig(
            a.PrefixTuningConfig(bottleneck_size=16, prefix_length=4),
            a.ParBnConfig(reduction_factor=4),
        ),
        "uni": a.UniPELTConfig(
            a.PrefixTuningConfig(prefix_length=4, use_gating=True),
            a.LoRAConfig(r=4, use_gating=True),
            a.SeqBnConfig(reduction_factor=4, use_gating=True),
        ),
    }


def methods_in_bert() -> Any:
    results: dict[str, Any] = {}
    for name, config in _methods().items():
        model = _bert()
        model.add_adapter("a", config=config)
        model.add_classification_head("a", num_labels=3)
        model.train_adapter("a")
        results[name] = _steps(model, input_ids=_ids(), labels=torch.tensor([0, 1, 2, 1]))
        model.eval()
        results[name] += (model(_ids()).logits,)
    return results


def methods_in_decoders_and_vision() -> Any:
    results: dict[str, Any] = {}
    images = torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    for name, config in _methods().items():
        if name in (
            "double_inv",
            "gated",
            "gated_ia3",
            "direft",
            "compacter++",
            "flat_prefix",
            "prompt",
        ):
            continue
        for kind, made, inputs in (
            ("llama", _llama, {"input_ids": _ids(), "labels": _ids()}),
            ("t5", _t5, {"input_ids": _ids(), "labels": _ids(4, 5)}),
            ("vit", _vit, {"pixel_values": images, "labels": torch.tensor([0, 1, 2, 1])}),
        ):
            if kind == "llama" and name in ("vera", "noreft"):
                continue
            model = made()
            model.add_adapter("a", config=config)
            model.train_adapter("a")
            found: tuple[Any, ...] = _steps(model, 2, **inputs)
            if kind != "vit":
                model.eval()
                found += (
                    model.generate(
                        _ids(2), max_new_tokens=4, do_sample=False, num_beams=2
                    ).tolist(),
                )
            results[f"{name} {kind}"] = found
    return results


def compositions() -> Any:
    import adapters.composition as ac
    from adapters import LoRAConfig, SeqBnConfig

    results: dict[str, Any] = {}
    model = _bert("head", num_labels=3)
    for i, name in enumerate("abcd"):
        torch.manual_seed(i)
        model.add_adapter(name, config=SeqBnConfig(reduction_factor=4, init_weights="mam_adapter"))
    torch.manual_seed(9)
    for parameter in (p for n, p in model.named_parameters() if "adapters" in n):
        torch.nn.init.normal_(parameter, std=0.3)
    model.eval()
    setups = {
        "stack": ac.Stack("a", "b", "c"),
        "parallel": ac.Parallel("a", "b"),
        "split": ac.Split("a", "b", splits=[3, 4]),
        "batch": ac.BatchSplit("a", "b", batch_sizes=[1, 3]),
        "average": ac.Average("a", "b", weights=[0.2, 0.8]),
        "nested": ac.Stack("a", ac.Split("b", "c", splits=[2, 5])),
        "deep": ac.Stack("a", ac.BatchSplit(ac.Stack("b", "c"), "d", batch_sizes=[2, 2])),
    }
    for name, setup in setups.items():
        model.set_active_adapters(setup)
        results[name] = model(_ids()).logits
    model.add_adapter_fusion(ac.Fuse("a", "b", "c"))
    model.set_active_adapters(ac.Fuse("a", "b", "c"))
    model.train_adapter_fusion(ac.Fuse("a", "b", "c"))
    results["fusion"] = (
        _steps(model, input_ids=_ids(), labels=torch.tensor([0, 1, 2, 1])),
        model.get_fusion_regularization_loss(),
    )
    model.eval()
    found = model(_ids(), output_adapter_fusion_attentions=True)
    results["attentions"] = sorted(found.adapter_fusion_attentions), found.logits
    gated = _bert("head", num_labels=3)
    gated.add_adapter("g", config=LoRAConfig(r=4, use_gating=True))
    gated.set_active_adapters("g")
    gated.eval()
    results["gates"] = [
        list(v.values())
        for v in gated(_ids(), output_adapter_gating_scores=True)
        .adapter_gating_scores["g"]
        .values()
    ]
    return results


def merged_and_averaged() -> Any:
    from adapters import IA3Config, LoRAConfig

    results: dict[str, Any] = {}
    model = _bert("head", num_labels=3)
    for i, name in enumerate("ab"):
        torch.manual_seed(i)
        model.add_adapter(name, config=LoRAConfig(r=4, alpha=2, init_weights="bert"))
    for mode in ("linear", "lora_linear_only_negate_b", "lora_delta_w_svd"):
        more = {"svd_rank": 3} if mode.endswith("svd") else {}
        model.average_adapter(mode, ["a", "b"], weights=[0.7, 0.3], combine_strategy=mode, **more)
        model.set_active_adapters(mode)
        model.eval()
        before = model(_ids()).logits
        model.merge_adapter(mode)
        after = model(_ids()).logits
        model.reset_adapter()
        results[mode] = (
            before,
            torch.allclose(before, after, atol=1e-4),
            torch.allclose(before, model(_ids()).logits, atol=1e-5),
        )
    scaled = _bert("head", num_labels=3)
    scaled.add_adapter("s", config=IA3Config(init_weights="lora"))
    scaled.set_active_adapters("s")
    scaled.merge_adapter("s")
    results["ia3"] = scaled.eval()(_ids()).logits, scaled.adapter_summary()
    return results


def saved_and_loaded() -> Any:
    import adapters.composition as ac
    from adapters import LoRAConfig, SeqBnInvConfig

    results: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        model = _bert()
        model.add_adapter("x", config=SeqBnInvConfig(reduction_factor=4))
        model.add_adapter("y", config=LoRAConfig(r=2, init_weights="bert"))
        model.add_classification_head("x", num_labels=2)
        model.add_tagging_head("t", num_labels=3)
        model.add_masked_lm_head("m")
        model.add_qa_head("q")
        model.add_multiple_choice_head("c", num_choices=2)
        model.set_active_adapters(ac.Stack("x", "y"))
        for head in ("x", "t", "m", "q"):
            model.active_head = head
            out = model.eval()(_ids())
            results.append([v.double().sum() for v in out.values() if isinstance(v, torch.Tensor)])
        model.active_head = "x"
        for safe in (True, False):
            at = os.path.join(folder, str(safe))
            os.makedirs(at)
            model.save_adapter(os.path.join(at, "x"), "x", use_safetensors=safe)
            model.save_adapter(os.path.join(at, "y"), "y", use_safetensors=safe)
            model.save_all_heads(os.path.join(at, "heads"))
            other = _bert()
            other.load_adapter(os.path.join(at, "x"), set_active=True, use_safetensors=safe)
            other.load_adapter(os.path.join(at, "y"), use_safetensors=safe)
            other.set_active_adapters(ac.Stack("x", "y"))
            results.append(
                (
                    torch.equal(other.eval()(_ids()).logits, model(_ids()).logits),
                    sorted(os.listdir(os.path.join(at, "x"))),
                )
            )
        model.delete_adapter("y")
        results.append((model.adapter_summary(), sorted(model.heads)))
        model.set_active_adapters("x")
        model.save_pretrained(os.path.join(folder, "whole"))
        whole = type(model).from_pretrained(os.path.join(folder, "whole"))
        whole.set_active_adapters("x")
        whole.active_head = "x"
        results.append(torch.equal(whole.eval()(_ids()).logits, model(_ids()).logits))
    return results


def parallel_heads_and_checkpoints() -> Any:
    import adapters.composition as ac
    from adapters import LoRAConfig

    model = _bert()
    for name, labels in (("a", 2), ("b", 3)):
        model.add_adapter(name, config=LoRAConfig(r=4, init_weights="bert"))
        model.add_classification_head(name, num_labels=labels)
    model.active_adapters = ac.Parallel("a", "b")
    model.active_head = ["a", "b"]
    outs = [out.logits for out in model.eval()(_ids())]
    model.train_adapter(ac.Parallel("a", "b"))
    model.gradient_checkpointing_enable()
    model.train()
    first, second = model(_ids())
    (first.logits.square().sum() + second.logits.square().sum()).backward()
    norms = {
        n: p.grad.double().norm()
        for n, p in model.named_parameters()
        if p.grad is not None and "heads" in n
    }
    return outs, norms, sum(p.grad is not None for p in model.parameters())
