"""Optimisers that are given gradients (``torch.distributed.optim.utils``), compared with
PyTorch."""

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
        listed = utils.functional_optim_map[getattr(torch.optim, name)](
            list(map(torch.clone, params)), **CASES[name]
        )
        for i in range(3):
            grads = [p * 0.5 + i for p in params]
            for p, g in zip(params, grads):
                if name in ("SGD", "Adam", "AdamW"):  # the others have ``step`` alone in PyTorch
                    one.step_param(p, g)
            listed.step(grads)
        return [p.tolist() for p in (*params, *listed.param_group["params"])], [
            p.grad is None for p in params
        ]

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


INNER = {
    "adam": ("tpps", {"amsgrad": True, "has_complex": False, "beta1": 0.9, "beta2": 0.99, "lr": 0.1,
                      "weight_decay": 0.1, "eps": 1e-8,
             "maximize": False, "capturable": False, "differentiable": False,
             "decoupled_weight_decay": True}, 2),
    "sgd": ("p", {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.0,
                  "nesterov": True, "maximize": True,
            "has_sparse_grad": False}, 2),
    "rmsprop": ("ptts", {"lr": 0.1, "alpha": 0.9, "eps": 1e-8, "weight_decay": 0.1, "momentum": 0.5,
                         "centered": False, "maximize": False,
                "differentiable": False, "capturable": False, "has_complex": False}, 0),
    "adagrad": ("ps", {"lr": 0.1, "weight_decay": 0.1, "lr_decay": 0.1, "eps": 1e-8,
                       "has_sparse_grad": False, "maximize": False,
                "differentiable": False, "has_complex": False}, 2),
    "adadelta": ("pps", {"lr": 0.1, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.1, "maximize": True,
                         "differentiable": False,
                 "capturable": False, "has_complex": False}, 0),
    "adamax": ("tps", {"eps": 1e-8, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1,
                       "maximize": False,
               "differentiable": False, "capturable": False, "has_complex": False}, 0),
    "nadam": ("tpns", {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1,
                       "momentum_decay": 0.004, "eps": 1e-8, "maximize": False,
              "decoupled_weight_decay": True, "capturable": False, "differentiable": False,
              "has_complex": False}, 0),
    "radam": ("tps", {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8,
                      "decoupled_weight_decay": True,
              "differentiable": False, "maximize": False, "capturable": False,
              "has_complex": False}, 0),
    "rprop": ("tps", {"step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2,
                      "maximize": False,
              "capturable": False, "differentiable": False, "has_complex": False}, 0),
}  # fmt: skip


@pytest.mark.parametrize("way", ["_single_tensor", "_multi_tensor"])
@pytest.mark.parametrize("name", INNER)
def test_inner_forms_step_as_pytorchs(name, way):
    lists, options, more = INNER[name]

    def program(torch):
        made = {"t": lambda: torch.linspace(-1, 2, 3), "p": lambda: torch.linspace(0.1, 2, 3),
                "s": lambda: torch.tensor(3.0),
                "n": lambda: torch.tensor(0.9)}  # fmt: skip
        given = [[made[kind]()] for kind in "tt" + lists]
        module = __import__(f"{torch.__name__}.optim.{name}", fromlist=["x"])
        getattr(module, f"{way}_{name}")(*given, *[None] * more, **options)
        return [x[0].tolist() for x in given]

    for mine, theirs in zip(program(jtorch), program(oracle), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-5)


def test_rates_may_be_asked_for_inside_the_block():
    for torch in (jtorch, oracle):
        schedule = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.ones(1)], 0.5), 1)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with torch.optim.lr_scheduler._enable_get_lr_call(schedule):
                schedule.get_lr()
            assert not told
            schedule.get_lr()
            assert len(told) == 1
