"""torchrl's other parts: environments with transforms, collectors, recurrent modules, planners,
mixers, maps and world models."""

from __future__ import annotations

import tempfile
from typing import Any

import torch

NEEDS = ["torchrl", "tensordict"]


def _sums(data: Any) -> dict[str, Any]:
    """Shape and sums of what a tensordict holds."""
    return {
        str(key): (
            list(value.shape),
            str(value.dtype),
            value.double().sum(),
            value.double().abs().max(),
        )
        for key, value in sorted(data.items(True, True), key=lambda item: str(item[0]))
        if isinstance(value, torch.Tensor) and value.numel()
    }


def _pendulum(*transforms: Any, seed: int = 1) -> Any:
    from torchrl.envs import Compose, PendulumEnv, TransformedEnv

    env = PendulumEnv(seed=seed)
    return TransformedEnv(env, Compose(*transforms)) if transforms else env


def environments_and_transforms() -> Any:
    from torchrl.envs import (
        ActionDiscretizer,
        CatFrames,
        CatTensors,
        DoubleToFloat,
        InitTracker,
        ObservationNorm,
        Reward2GoTransform,
        RewardScaling,
        RewardSum,
        StepCounter,
        TimeMaxPool,
        UnsqueezeTransform,
        VecNormV2,
        check_env_specs,
    )

    results: dict[str, Any] = {}
    env = _pendulum()
    check_env_specs(env)
    results["plain"] = _sums(env.rollout(5)), str(env.action_spec.shape)
    env = _pendulum(
        UnsqueezeTransform(in_keys=["th", "thdot"], dim=-1, in_keys_inv=["th", "thdot"]),
        CatTensors(["th", "thdot"], out_key="observation", del_keys=False),
        ObservationNorm(loc=0.5, scale=2.0, in_keys=["observation"]),
        CatFrames(N=3, dim=-1, in_keys=["observation"], out_keys=["frames"]),
        TimeMaxPool(in_keys=["observation"], out_keys=["pooled"], T=2),
        RewardScaling(0.1, 2.0),
        RewardSum(),
        StepCounter(max_steps=4),
        InitTracker(),
        DoubleToFloat(),
    )
    torch.manual_seed(0)
    results["several"] = _sums(env.rollout(10, break_when_any_done=False))
    env = _pendulum(ActionDiscretizer(num_intervals=5), StepCounter())
    results["discrete"] = _sums(env.rollout(4))
    env = _pendulum(VecNormV2(in_keys=["th", "thdot"], decay=0.9))
    results["normalised"] = _sums(env.rollout(6))
    rollout = _pendulum().rollout(5)
    rollout.set(("next", "done"), torch.tensor([[False], [True], [False], [False], [True]]))
    results["to go"] = Reward2GoTransform(gamma=0.9, done_key="done").inv(rollout)["next", "reward"]
    return results


def batched_and_games() -> Any:
    from tensordict import TensorDict
    from torchrl.envs import ParallelEnv, PendulumEnv, SerialEnv, TicTacToeEnv

    results: dict[str, Any] = {}
    for name, kind in (("serial", SerialEnv), ("parallel", ParallelEnv)):
        env = kind(
            2,
            lambda: PendulumEnv(seed=3),
            **({"mp_start_method": "fork"} if name == "parallel" else {}),
        )
        env.set_seed(5)
        torch.manual_seed(0)
        found = env.rollout(4)
        results[name] = (
            list(found.shape),
            found["action"] if name == "serial" else list(found["action"].shape),
        )
        env.close()
    params = PendulumEnv.gen_params(g=9.0, batch_size=[3])
    batched = PendulumEnv(seed=2)
    td = batched.reset(params)
    for _ in range(3):
        td["action"] = torch.full(params.batch_size, 0.5)
        td = batched.step(td)["next"].update(
            TensorDict({"params": params["params"]}, params.batch_size)
        )
    results["stateless"] = _sums(td)
    game = TicTacToeEnv()
    torch.manual_seed(2)
    results["game"] = _sums(game.rollout(9))
    return results


def _actor(size: int = 3) -> Any:
    from tensordict.nn import TensorDictModule
    from torchrl.modules import MLP, NormalParamExtractor, ProbabilisticActor, TanhNormal

    net = torch.nn.Sequential(
        MLP(in_features=size, out_features=2, num_cells=[8]), NormalParamExtractor()
    )
    module = TensorDictModule(net, in_keys=["observation"], out_keys=["loc", "scale"])
    limits = {"low": -2.0, "high": 2.0}
    return ProbabilisticActor(
        module,
        in_keys=["loc", "scale"],
        out_keys=["action"],
        distribution_class=TanhNormal,
        distribution_kwargs=limits,
        return_log_prob=True,
    )


def collected_and_trained() -> Any:
    from torchrl.collectors import Collector
    from torchrl.data import (
        LazyMemmapStorage,
        LazyTensorStorage,
        SamplerWithoutReplacement,
        SliceSampler,
        TensorDictReplayBuffer,
    )
    from torchrl.envs import CatTensors, StepCounter, UnsqueezeTransform
    from torchrl.modules import MLP, ValueOperator
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE

    torch.manual_seed(0)
    keys = ["th", "thdot"]
    env = _pendulum(
        UnsqueezeTransform(in_keys=keys, dim=-1, in_keys_inv=keys),
        CatTensors(keys, out_key="observation", del_keys=False),
        StepCounter(max_steps=5),
    )
    actor, critic = (
        _actor(2),
        ValueOperator(MLP(in_features=2, out_features=1, num_cells=[8]), in_keys=["observation"]),
    )
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01, normalize_advantage=True)
    optimizer = torch.optim.Adam(loss.parameters(), 0.01)
    collector = Collector(env, actor, frames_per_batch=16, total_frames=48, split_trajs=False)
    buffer = TensorDictReplayBuffer(
        storage=LazyTensorStorage(16), sampler=SamplerWithoutReplacement(), batch_size=8
    )
    seen = []
    for data in collector:
        advantage(data)
        buffer.extend(data.reshape(-1))
        for _ in range(2):
            losses = loss(buffer.sample())
            total = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
            total.backward()
            norm = torch.nn.utils.clip_grad_norm_(loss.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            seen.append((total, norm, losses["clip_fraction"]))
        collector.update_policy_weights_()
    kept = data.reshape(-1).detach()
    kinds: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        memory = TensorDictReplayBuffer(
            storage=LazyMemmapStorage(32, scratch_dir=folder), batch_size=4
        )
        memory.extend(kept)
        kinds["mapped"] = _sums(memory.sample())
        memory.dumps(folder + "/saved")
        other = TensorDictReplayBuffer(storage=LazyMemmapStorage(32), batch_size=4)
        other.loads(folder + "/saved")
        kinds["loaded"] = len(other), _sums(other[:])
    slices = TensorDictReplayBuffer(
        storage=LazyTensorStorage(32),
        sampler=SliceSampler(slice_len=3, end_key=("next", "done"), strict_length=True),
        batch_size=6,
    )
    slices.extend(kept)
    kinds["slices"] = _sums(slices.sample())
    return seen, kinds


def recurrent_modules() -> Any:
    from tensordict import TensorDict
    from torchrl.modules import GRUModule, LSTMModule, set_recurrent_mode

    results: dict[str, Any] = {}
    for name, kind, keys in (
        ("lstm", LSTMModule, ["observation", "h", "c"]),
        ("gru", GRUModule, ["observation", "h"]),
    ):
        torch.manual_seed(0)
        outs = ["out", *[("next", key) for key in keys[1:]]]
        module = kind(input_size=3, hidden_size=4, num_layers=2, in_keys=keys, out_keys=outs)
        hidden = {key: torch.zeros(2, 5, 2, 4) for key in keys[1:]}
        init = torch.zeros(2, 5, 1, dtype=torch.bool)
        init[0, 3] = init[1, 2] = True
        data = TensorDict({"observation": torch.randn(2, 5, 3), "is_init": init, **hidden}, [2, 5])
        with set_recurrent_mode(True):
            out = module(data.clone())
        out["out"].square().sum().backward()
        step = module(data[:, 0].clone())
        results[name] = (
            _sums(out),
            _sums(step),
            [p.grad.double().norm() for p in module.parameters()],
        )
    return results


def exploring_and_planning() -> Any:
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule, TensorDictSequential
    from torchrl.data import Bounded, OneHot
    from torchrl.envs.model_based import ModelBasedEnvBase
    from torchrl.modules import (
        MLP,
        AdditiveGaussianModule,
        EGreedyModule,
        NoisyLinear,
        OrnsteinUhlenbeckProcessModule,
        QValueActor,
        reset_noise,
    )

    results: dict[str, Any] = {}
    torch.manual_seed(0)
    spec = Bounded(-1.0, 1.0, (2,))
    policy = TensorDictModule(torch.nn.Linear(3, 2), ["observation"], ["action"])
    data = TensorDict(
        {
            "observation": torch.randn(6, 3),
            "is_init": torch.zeros(6, 1, dtype=torch.bool),
            "step_count": torch.zeros(6, 1),
        },
        [6],
    )
    for name, made in (
        ("gaussian", AdditiveGaussianModule(spec, annealing_num_steps=10)),
        ("process", OrnsteinUhlenbeckProcessModule(spec, annealing_num_steps=10)),
    ):
        explorer = TensorDictSequential(policy, made)
        results[name] = explorer(data.clone())["action"]
        made.step(4)
        results[name + " later"] = explorer(data.clone())["action"]
    values = QValueActor(
        MLP(in_features=3, out_features=4, num_cells=[8]), in_keys=["observation"], spec=OneHot(4)
    )
    greedy = TensorDictSequential(
        values, EGreedyModule(OneHot(4), eps_init=0.6, annealing_num_steps=5)
    )
    results["greedy"] = greedy(data.clone())["action"].long().argmax(-1)
    noisy = NoisyLinear(3, 2)
    first = noisy(data["observation"])
    reset_noise(noisy)
    results["noisy"] = first, noisy(data["observation"]), noisy.eval()(data["observation"])

    class Model(ModelBasedEnvBase):
        def __init__(self, world: Any) -> None:
            from torchrl.data import Composite, Unbounded

            super().__init__(world)
            self.observation_spec = Composite(hidden=Unbounded((3,)))
            self.state_spec = Composite(hidden=Unbounded((3,)))
            self.action_spec = Unbounded((2,))
            self.reward_spec = Unbounded((1,))

        def _reset(self, tensordict: Any) -> Any:
            made = TensorDict({}, batch_size=self.batch_size, device=self.device)
            return made.update(self.state_spec.rand()).update(self.observation_spec.rand())

    from torchrl.modules import CEMPlanner, MPPIPlanner, WorldModelWrapper
    from torchrl.objectives.value import TDLambdaEstimator

    world = WorldModelWrapper(
        TensorDictModule(
            MLP(in_features=5, out_features=3, num_cells=[8]), ["hidden", "action"], ["hidden"]
        ),
        TensorDictModule(torch.nn.Linear(3, 1), ["hidden"], ["reward"]),
    )
    env = Model(world)
    torch.manual_seed(0)
    start = env.reset()
    results["cem"] = CEMPlanner(env, planning_horizon=3, optim_steps=3, num_candidates=8, top_k=3)(
        start.clone()
    )["action"]
    estimator = TDLambdaEstimator(
        gamma=0.9,
        lmbda=0.9,
        value_network=TensorDictModule(torch.nn.Linear(3, 1), ["hidden"], ["state_value"]),
    )
    planner = MPPIPlanner(
        env,
        estimator,
        temperature=1.0,
        planning_horizon=3,
        optim_steps=2,
        num_candidates=8,
        top_k=3,
    )
    results["mppi"] = planner(start.clone())["action"]
    return results


def several_agents() -> Any:
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule, TensorDictSequential
    from torchrl.modules import MultiAgentConvNet, MultiAgentMLP, QMixer, QValueModule, VDNMixer
    from torchrl.objectives import QMixerLoss, SoftUpdate

    results: dict[str, Any] = {}
    for central in (True, False):
        for share in (True, False):
            torch.manual_seed(0)
            net = MultiAgentMLP(
                n_agent_inputs=3,
                n_agent_outputs=2,
                n_agents=3,
                centralized=central,
                share_params=share,
                depth=1,
                num_cells=8,
            )
            out = net(torch.ones(4, 3, 3))
            out.square().sum().backward()
            results[f"{central} {share}"] = (
                out[0],
                [p.grad.double().sum() for p in net.parameters()],
            )
    torch.manual_seed(0)
    conv = MultiAgentConvNet(
        n_agents=2,
        centralized=False,
        share_params=False,
        num_cells=[4],
        kernel_sizes=3,
        in_features=3,
    )
    results["conv"] = conv(torch.randn(2, 2, 3, 8, 8)).double().sum()
    for name, mixer in (
        ("qmix", QMixer(state_shape=(5,), mixing_embed_dim=8, n_agents=3, device="cpu")),
        ("vdn", VDNMixer(n_agents=3, device="cpu")),
    ):
        torch.manual_seed(0)
        net = MultiAgentMLP(
            n_agent_inputs=3,
            n_agent_outputs=4,
            n_agents=3,
            centralized=False,
            share_params=True,
            depth=1,
            num_cells=8,
        )
        values = TensorDictModule(net, [("agents", "observation")], [("agents", "action_value")])
        chosen = QValueModule(
            action_value_key=("agents", "action_value"),
            out_keys=[
                ("agents", "action"),
                ("agents", "action_value"),
                ("agents", "chosen_action_value"),
            ],
            spec=None,
            action_space="one-hot",
        )
        mixing = TensorDictModule(
            mixer,
            [("agents", "chosen_action_value"), *(["state"] if name == "qmix" else [])],
            ["chosen_action_value"],
        )
        loss = QMixerLoss(
            TensorDictSequential(values, chosen), mixing, delay_value=True, action_space="one-hot"
        )
        loss.set_keys(
            action_value=("agents", "action_value"),
            local_value=("agents", "chosen_action_value"),
            action=("agents", "action"),
        )
        update = SoftUpdate(loss, tau=0.1)
        sizes = (4, 3)
        data = TensorDict(
            {
                "agents": {
                    "observation": torch.randn(*sizes, 3),
                    "action": torch.nn.functional.one_hot(torch.randint(4, sizes), 4),
                },
                "state": torch.randn(4, 5),
                "next": {
                    "agents": {"observation": torch.randn(*sizes, 3)},
                    "state": torch.randn(4, 5),
                    "reward": torch.randn(4, 1),
                    "done": torch.zeros(4, 1, dtype=torch.bool),
                    "terminated": torch.zeros(4, 1, dtype=torch.bool),
                },
            },
            [4],
        )
        optimizer = torch.optim.Adam(loss.parameters(), 0.05)
        seen = []
        for _ in range(3):
            value = loss(data.clone())["loss"]
            value.backward()
            optimizer.step()
            optimizer.zero_grad()
            update.step()
            seen.append(value.item())
        results[name] = seen
    return results


def maps_and_hashes() -> Any:
    from tensordict import TensorDict
    from torchrl.data import SipHash
    from torchrl.data.map import QueryModule, RandomProjectionHash, TensorDictMap
    from torchrl.data.replay_buffers.storages import LazyTensorStorage

    torch.manual_seed(0)
    projected = RandomProjectionHash(n_components=3)(torch.arange(12.0).reshape(4, 3))
    query = QueryModule(in_keys=["key1", "key2"], index_key="index")
    table = TensorDictMap(query_module=query, storage=LazyTensorStorage(20))
    data = TensorDict(
        {
            "key1": torch.tensor([[-1.0], [1.0], [3.0]]),
            "key2": torch.tensor([[0.0], [2.0], [4.0]]),
            "value": torch.arange(3.0),
        },
        [3],
    )
    table[data] = data
    found = table[data.select("key1", "key2")]
    asked = data.select("key1", "key2").clone()
    asked["key1"][1] = 7.0
    hashed = SipHash()(torch.arange(6.0).reshape(3, 2))
    return projected.shape, found["value"], table.contains(asked), len(table), hashed.shape


def world_models() -> Any:
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule, TensorDictSequential
    from torchrl.modules import (
        MLP,
        ObsDecoder,
        ObsEncoder,
        RSSMPosterior,
        RSSMPrior,
        RSSMRollout,
        WorldModelWrapper,
    )
    from torchrl.objectives import DreamerModelLoss

    torch.manual_seed(0)
    batch, steps, state, belief = 2, 3, 4, 8
    prior, posterior = (
        RSSMPrior(hidden_dim=8, rnn_hidden_dim=belief, state_dim=state, action_spec=_spec(2)),
        RSSMPosterior(hidden_dim=8, state_dim=state),
    )
    rollout = RSSMRollout(
        TensorDictModule(
            prior,
            in_keys=["state", "belief", "action"],
            out_keys=[("next", "prior_mean"), ("next", "prior_std"), "_", ("next", "belief")],
        ),
        TensorDictModule(
            posterior,
            in_keys=[("next", "belief"), ("next", "encoded_latents")],
            out_keys=[("next", "posterior_mean"), ("next", "posterior_std"), ("next", "state")],
        ),
    )
    encoder, decoder = ObsEncoder(channels=4), ObsDecoder(channels=4)
    reward = MLP(out_features=1, depth=1, num_cells=8)
    model = WorldModelWrapper(
        TensorDictSequential(
            TensorDictModule(
                encoder, in_keys=[("next", "pixels")], out_keys=[("next", "encoded_latents")]
            ),
            rollout,
            TensorDictModule(
                decoder,
                in_keys=[("next", "state"), ("next", "belief")],
                out_keys=[("next", "reco_pixels")],
            ),
        ),
        TensorDictModule(
            reward, in_keys=[("next", "state"), ("next", "belief")], out_keys=[("next", "reward")]
        ),
    )
    data = TensorDict(
        {
            "state": torch.zeros(batch, steps, state),
            "belief": torch.zeros(batch, steps, belief),
            "action": torch.randn(batch, steps, 2),
            "next": {
                "pixels": torch.randn(batch, steps, 3, 64, 64),
                "reward": torch.randn(batch, steps, 1),
                "done": torch.zeros(batch, steps, 1, dtype=torch.bool),
                "terminated": torch.zeros(batch, steps, 1, dtype=torch.bool),
            },
        },
        [batch, steps],
    )
    with torch.no_grad():
        model(data.clone())
    loss = DreamerModelLoss(model)
    optimizer = torch.optim.Adam(loss.parameters(), 1e-3)
    seen = []
    for _ in range(2):
        losses, _ = loss(data.clone())
        total = losses["loss_model_kl"] + losses["loss_model_reco"] + losses["loss_model_reward"]
        total.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        seen.append(
            {
                key: losses[key].sum()
                for key in ("loss_model_kl", "loss_model_reco", "loss_model_reward")
            }
        )
    return seen


def _spec(size: int) -> Any:
    from torchrl.data import Bounded

    return Bounded(-1.0, 1.0, (size,))


def distributions_and_values() -> Any:
    from torchrl.modules import (
        BatchRenorm1d,
        MaskedCategorical,
        MaskedOneHotCategorical,
        OneHotCategorical,
        Ordinal,
        TanhDelta,
        TruncatedNormal,
    )
    from torchrl.objectives import two_hot_decode, two_hot_encode
    from torchrl.objectives.value import functional as vf

    results: dict[str, Any] = {}
    torch.manual_seed(0)
    logits, mask = torch.randn(4, 5, requires_grad=True), torch.rand(4, 5) > 0.3
    mask[:, 0] = True
    for name, made in (
        ("masked", MaskedCategorical(logits=logits, mask=mask)),
        ("one hot masked", MaskedOneHotCategorical(logits=logits, mask=mask)),
        ("one hot", OneHotCategorical(logits=logits)),
        ("ordinal", Ordinal(logits)),
        ("truncated", TruncatedNormal(logits, logits.exp(), low=-1.0, high=1.0)),
        ("delta", TanhDelta(logits, low=-1.0, high=1.0)),
    ):
        drawn = made.sample()
        found = [drawn.double().sum(), made.log_prob(drawn).sum()]
        scored = made.log_prob(drawn.detach()).sum()
        results[name] = [
            *found,
            torch.autograd.grad(scored, logits)[0] if scored.requires_grad else "no gradient",
        ]
    norm = BatchRenorm1d(5, warmup_steps=1)
    for _ in range(3):
        out = norm(logits)
    results["renorm"] = out, norm.running_mean
    reward, value, after = torch.randn(2, 7, 1), torch.randn(2, 7, 1), torch.randn(2, 7, 1)
    done = torch.zeros(2, 7, 1, dtype=torch.bool)
    done[0, 3] = done[1, 5] = True
    for name in ("generalized_advantage_estimate", "vec_generalized_advantage_estimate"):
        results[name] = getattr(vf, name)(0.9, 0.8, value, after, reward, done, done)
    for name in ("td_lambda_return_estimate", "vec_td_lambda_return_estimate"):
        results[name] = getattr(vf, name)(0.9, 0.8, after, reward, done, done)
    for name in ("td1_return_estimate", "vec_td1_return_estimate"):
        results[name] = getattr(vf, name)(0.9, after, reward, done, done)
    results["vtrace"] = vf.vtrace_advantage_estimate(
        0.9, torch.randn(2, 7, 1), torch.randn(2, 7, 1), value, after, reward, done, done
    )
    results["to go"] = vf.reward2go(reward, done, 0.9)
    support = torch.linspace(-2, 2, 9)
    hot = two_hot_encode(torch.tensor([0.3, -1.7, 5.0]), support)
    results["two hot"] = hot, two_hot_decode(hot.clamp(min=1e-9).log(), support)
    return results
