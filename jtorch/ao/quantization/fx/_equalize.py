"""Scaling what two layers give each other, which needs observers that are not offered."""

from __future__ import annotations

from jtorch import nn
from jtorch._src.facts.errors import not_offered
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.fx.graph_module import GraphModule


def update_obs_for_equalization(
    model: GraphModule, modules: dict[str, nn.Module]
) -> dict[str, object]:
    """The observers of weights that scales were found for: none where there are no observers that
    find scales.

    Raises:
        NotImplementedError: where there are.
    """
    del modules
    if any("EqualizationObserver" in type(m).__name__ for m in model.modules()):
        raise not_offered("update_obs_for_equalization", "layers are not scaled against each other")
    return {}


def convert_eq_obs(
    model: GraphModule, modules: dict[str, nn.Module], weight_eq_obs_dict: dict[str, object]
) -> None:
    """Scales layers as observers found: nothing where there are none.

    Raises:
        NotImplementedError: where there are.
    """
    update_obs_for_equalization(model, modules)
    del weight_eq_obs_dict


__getattr__ = _refusals.missing(__name__)
