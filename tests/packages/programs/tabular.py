"""TabPFN: each architecture from a configuration trained, and classifiers and regressors of models
in memory fitted, cached and saved."""

from __future__ import annotations

import importlib
import os
import tempfile
import warnings
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

NEEDS = ["tabpfn", "sklearn"]

_OLDER = {"emsize": 16, "nhead": 2, "nlayers": 2, "num_buckets": 10, "max_num_classes": 3}
_NEWER = {
    "max_num_classes": 3,
    "num_buckets": 10,
    "embed_dim": 16,
    "nlayers": 2,
    "icl_num_heads": 2,
    "icl_num_kv_heads_test": 1,
    "dist_embed_num_heads": 2,
    "dist_embed_num_blocks": 1,
    "dist_embed_num_inducing_points": 4,
    "feat_agg_num_heads": 2,
    "feat_agg_num_blocks": 1,
    "feat_agg_num_cls_tokens": 2,
}
_KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "tabpfn_v2": ("TabPFNV2Config", _OLDER),
    "tabpfn_v2_5": ("TabPFNV2p5Config", {**_OLDER, "num_thinking_rows": 4}),
    "tabpfn_v2_6": (
        "TabPFNV2p6Config",
        {**_OLDER, "num_thinking_rows": 4, "encoder_type": "mlp", "encoder_mlp_hidden_dim": 8},
    ),
    "tabpfn_v3": ("TabPFNV3Config", _NEWER),
    "tabpfn_v3_5": ("TabPFNV3p5Config", _NEWER),
}


def _architecture(kind: str, **more: Any) -> Any:
    """A model whose weights are drawn, so that what is zero at first does something too, and its
    configuration."""
    module = importlib.import_module(f"tabpfn.architectures.{kind}")
    name, options = _KINDS[kind]
    torch.manual_seed(0)
    config = getattr(module, name)(**{**options, **more})
    model = module.get_architecture(config)
    for parameter in model.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.05)
    return model, config


def architectures() -> Any:
    results: dict[str, Any] = {}
    x = torch.randn(12, 2, 5, generator=torch.Generator().manual_seed(1))
    x[3, 0, 1] = float("nan")
    y = torch.randint(0, 3, (8, 2), generator=torch.Generator().manual_seed(2)).float()
    for kind in _KINDS:
        model, _ = _architecture(kind)
        task = {"task_type": "multiclass"} if kind == "tabpfn_v3_5" else {}
        trained = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(trained, 1e-3)
        seen = []
        for _ in range(3):
            out = model(x, y, **task)
            loss = torch.nn.functional.cross_entropy(
                out.reshape(-1, out.shape[-1])[:, :3].float(), torch.arange(8) % 3
            )
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            seen.append((loss.item(), norm))
        model.eval()
        with torch.no_grad():
            results[kind] = (
                seen,
                list(out.shape),
                model(x, y, **task)[0],
                model(x[:, :1], y[:, :1], **task)[:, 0].double().sum(),
            )
    return results


def _specs(kind: str, task: str) -> Any:
    from tabpfn import ModelSpecs
    from tabpfn.architectures.shared.bar_distribution import FullSupportBarDistribution
    from tabpfn.constants import ModelVersion
    from tabpfn.inference_config import InferenceConfig

    model, config = _architecture(
        kind, **({"max_num_classes": 0} if task == "regression" and kind < "tabpfn_v3" else {})
    )
    version = ModelVersion.V2 if kind == "tabpfn_v2" else ModelVersion.V2_5
    borders = (
        FullSupportBarDistribution(torch.linspace(-3, 3, 11))
        if task == "regression" and kind < "tabpfn_v3"
        else None
    )
    return ModelSpecs(model.eval(), config, InferenceConfig.get_default(task, version), borders)


def _table() -> Any:
    drawn = np.random.default_rng(0)
    x = drawn.normal(size=(30, 4))
    x[:, 3] = drawn.integers(0, 3, 30)
    return x, np.arange(30) % 3, x[:, 0] * 2 + np.sin(x[:, 1])


def estimators() -> Any:
    from tabpfn import TabPFNClassifier, TabPFNRegressor

    warnings.simplefilter("ignore")
    x, classes, values = _table()
    results: dict[str, Any] = {}
    options: dict[str, Any] = {
        "device": "cpu",
        "n_estimators": 3,
        "random_state": 0,
        "inference_precision": torch.float32,
    }
    for kind in ("tabpfn_v2", "tabpfn_v2_5", "tabpfn_v3_5"):
        for mode in ("low_memory", "fit_preprocessors", "fit_with_cache"):
            made = TabPFNClassifier(
                model_path=_specs(kind, "multiclass"),
                fit_mode=mode,
                balance_probabilities=True,
                categorical_features_indices=[3],
                **options,
            )
            results[f"{kind} {mode}"] = made.fit(x, classes).predict_proba(x[:5])
        made = TabPFNRegressor(model_path=_specs(kind, "regression"), **options)
        found = made.fit(x, values).predict(x[:5], output_type="full")
        results[f"{kind} values"] = (
            found["mean"],
            found["median"],
            found["mode"],
            found["quantiles"],
            found["logits"].double().mean(),
        )
    wide = TabPFNClassifier(
        model_path=_specs("tabpfn_v2_5", "multiclass"),
        **{**options, "inference_precision": torch.float64},
    )
    results["float64"] = (
        wide.fit(x, classes).predict_proba(x[:5]),
        wide.get_embeddings(x[:3]).mean(-1),
    )
    return results


def saved_and_differentiated() -> Any:
    from tabpfn import TabPFNClassifier
    from tabpfn.model_loading import load_fitted_tabpfn_model, save_fitted_tabpfn_model

    warnings.simplefilter("ignore")
    x, classes, _ = _table()
    specs = _specs("tabpfn_v3_5", "multiclass")
    with tempfile.TemporaryDirectory() as folder:
        stored = {"state_dict": specs.model.state_dict(), "architecture_name": "tabpfn_v3_5"}
        stored |= {
            "config": asdict(specs.architecture_config),
            "inference_config": asdict(specs.inference_config),
        }
        torch.save(stored, os.path.join(folder, "model.ckpt"))
        options = {
            "device": "cpu",
            "n_estimators": 2,
            "random_state": 0,
            "inference_precision": torch.float32,
        }
        made = TabPFNClassifier(model_path=os.path.join(folder, "model.ckpt"), **options).fit(
            x, classes
        )
        expected = made.predict_proba(x[:4])
        save_fitted_tabpfn_model(made, os.path.join(folder, "fitted.tabpfn_fit"))
        again = load_fitted_tabpfn_model(os.path.join(folder, "fitted.tabpfn_fit"), device="cpu")
        same = np.allclose(again.predict_proba(x[:4]), expected, atol=1e-6)
    model, _ = _architecture("tabpfn_v2_5")
    inputs = torch.tensor(x[:, None, :], dtype=torch.float32, requires_grad=True)
    out = model.eval()(inputs, torch.tensor(classes[:20, None], dtype=torch.float32))
    (gradient,) = torch.autograd.grad(out.softmax(-1)[..., 0].sum(), inputs)
    return expected, same, gradient[:, 0].abs().sum(0)
