"""Optimisers that are given gradients (``torch.distributed.optim.utils``), compared with PyTorch."""

import warnings

import pytest
import torch as oracle

import jtorch
import jtorch.distributed.optim.utils as ours

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
with warnings.catch_warnings():  # they are to be replaced by compiled ones
    warnings.simplefilter("ignore")
    import torch.distributed.optim.utils as theirs

CASES = {
    "SGD": {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.01},
    "Adam": {"lr": 0.01, "betas": (0.9, 0.99)},
    "AdamW": {"lr": 0.01, "eps": 1e-6},
    "Adagrad": {"lr": 0.02},
    "Adadelta": {"lr": 0.5},
    "RMSprop": {"lr": 0.02, "momentum": 0.5},
    "Rprop": {"lr": 0.02},
    "Adamax": {"lr": 0.02},
}


@pytest.mark.parametrize("name", CASES)
def test_steps_are_those_of_the_optimiser(name):
    def program(torch, utils):
        one = utils.as_functional_optim(getattr(torch.optim, name), **CASES[name])
        params = [torch.linspace(-1, 1, 3), torch.linspace(0, 2, 4)]
        listed = utils.functional_optim_map[getattr(torch.optim, name)](list(map(torch.clone, params)), **CASES[name])
        for i in range(3):
            grads = [p * 0.5 + i for p in params]
            for p, g in zip(params, grads):
                if name in ("SGD", "Adam", "AdamW"):  # the others have ``step`` alone in PyTorch
                    one.step_param(p, g)
            listed.step(grads)
        return [p.tolist() for p in (*params, *listed.param_group["params"])], [p.grad is None for p in params]

    found, expected = program(jtorch, ours), program(oracle, theirs)
    assert found[1] == expected[1]
    for a, b in zip(found[0], expected[0], strict=True):
        assert a == pytest.approx(b, rel=1e-5)


def test_refusals_and_registration():
    for torch, utils in ((jtorch, ours), (oracle, theirs)):
        with pytest.raises(ValueError, match="does not have a functional counterpart"):
            utils.as_functional_optim(torch.optim.LBFGS)
        with pytest.raises(ValueError, match="optimizer got an empty parameter list"):
            utils.functional_optim_map[torch.optim.SGD]([], 0.1)
        with pytest.raises(ValueError, match="Invalid learning rate"):
            utils.as_functional_optim(torch.optim.Adam, -1.0)
        with pytest.raises(ValueError, match="the gradients passed in does not equal"):
            utils.functional_optim_map[torch.optim.SGD]([torch.ones(1)], 0.1).step([])
        utils.register_functional_optim("mine", 3)
        utils.register_functional_optim("mine", 4)
        assert utils.functional_optim_map.pop("mine") == 3
