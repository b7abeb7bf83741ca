"""transformers, PEFT and sentence-transformers: decoding with caches, adapters, embeddings of
texts, half precision."""

from __future__ import annotations

import tempfile
from typing import Any

import torch

NEEDS = ["transformers", "peft", "sentence_transformers"]


def _llama(**more: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = {
        "vocab_size": 40,
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "max_position_embeddings": 32,
    }
    return LlamaForCausalLM(
        LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=2, pad_token_id=0, **more)
    )


def decoding() -> Any:
    model, ids = _llama().eval(), torch.tensor([[1, 2, 3], [4, 5, 6]])
    found = {
        "greedy": model.generate(ids, max_new_tokens=5, do_sample=False),
        "beams": model.generate(
            ids, max_new_tokens=5, num_beams=3, num_return_sequences=2, length_penalty=0.5
        ),
        "static": model.generate(
            ids, max_new_tokens=4, cache_implementation="static", do_sample=False
        ),
        "penalties": model.generate(
            ids, max_new_tokens=5, repetition_penalty=1.5, no_repeat_ngram_size=2, do_sample=False
        ),
    }
    torch.manual_seed(1)
    found["sampled"] = model.generate(
        ids, max_new_tokens=5, do_sample=True, top_k=8, top_p=0.9, temperature=0.7
    )
    mask = torch.tensor([[0, 1, 1], [1, 1, 1]])
    scores = model.generate(
        ids,
        attention_mask=mask,
        max_new_tokens=2,
        return_dict_in_generate=True,
        output_scores=True,
        do_sample=False,
    )
    found["scores"] = scores.scores[1][0, :4]
    return found


def attentions_in_bfloat16() -> Any:
    model = _llama(attn_implementation="sdpa")
    ids = torch.arange(8).reshape(1, 8)
    whole = model(ids, labels=ids)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        half = type(model).from_pretrained(
            folder, dtype=torch.bfloat16, attn_implementation="eager", device_map="cpu"
        )
    out = half(ids, output_attentions=True, output_hidden_states=True)
    return (
        whole.loss,
        str(half.dtype),
        len(out.hidden_states),
        [round(v, 1) for v in out.attentions[0][0, 0, -1].float().tolist()],
    )


def adapters() -> Any:
    from peft import LoraConfig, PeftModel, get_peft_model

    base = _llama()
    model = get_peft_model(
        base,
        LoraConfig(
            r=2,
            lora_alpha=4,
            target_modules=["q_proj", "v_proj"],
            use_dora=True,
            task_type="CAUSAL_LM",
        ),
    )
    model.gradient_checkpointing_enable()
    model.enable_input_require_grads()
    ids = torch.arange(16).reshape(2, 8)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)
    losses = []
    for _ in range(2):
        loss = model(input_ids=ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = PeftModel.from_pretrained(_llama(), folder)
        same = torch.allclose(again(ids).logits, model.eval()(ids).logits, atol=1e-5)
    merged = again.merge_and_unload()
    with model.disable_adapter():
        plain = model(ids).logits[0, 0, :3]
    return losses, same, merged(ids).logits[0, 0, :3], plain


def embeddings_of_texts() -> Any:
    from pathlib import Path

    from sentence_transformers import SentenceTransformer, util
    from sentence_transformers.models import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = "[PAD] [UNK] [CLS] [SEP] [MASK] a cat dog sat ran on the mat".split()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "vocab.txt").write_text("\n".join(words))
        BertTokenizerFast(f"{folder}/vocab.txt").save_pretrained(folder)
        sizes = {
            "hidden_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 24,
            "max_position_embeddings": 16,
        }
        BertModel(BertConfig(vocab_size=len(words), **sizes)).eval().save_pretrained(folder)
        body = Transformer(folder, max_seq_length=12)
        model = SentenceTransformer(modules=[body, Pooling(16), Normalize()], device="cpu").eval()
        texts = ["a cat sat on the mat", "the dog ran", "a dog sat"]
        found = model.encode(texts, convert_to_tensor=True, batch_size=2, show_progress_bar=False)
        model.save(f"{folder}/all")
        again = SentenceTransformer(f"{folder}/all", device="cpu").encode(
            texts, show_progress_bar=False
        )
    ranks = util.semantic_search(found[:1], found, top_k=2)[0]
    return (
        found[:, :3],
        util.cos_sim(found, found)[0],
        [r["corpus_id"] for r in ranks],
        float(abs(again - found.numpy()).max()) < 1e-5,
    )
