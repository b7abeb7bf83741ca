"""stable-baselines3: short runs of ``learn``, saved and loaded."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

NEEDS = ["stable_baselines3", "gymnasium"]


def _environment(continuous: bool = False) -> Any:
    import gymnasium as gym

    class Walk(gym.Env):  # type: ignore[misc]
        observation_space = gym.spaces.Box(-5.0, 5.0, (2,), np.float32)
        action_space = (
            gym.spaces.Box(-1.0, 1.0, (1,), np.float32) if continuous else gym.spaces.Discrete(2)
        )

        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            self.at, self.steps = 0.0, 0
            return np.array([0.0, 0.0], np.float32), {}

        def step(self, action: Any) -> Any:
            self.at += float(np.asarray(action).ravel()[0]) - (0.0 if continuous else 0.5)
            self.steps += 1
            seen = np.array([self.at, self.steps / 10], np.float32)
            return seen.clip(-5, 5), -abs(self.at - 1), False, self.steps >= 10, {}

    return Walk()


def _after(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model")
        loaded = type(model).load(f"{folder}/model")
    seen = np.array([[0.5, 0.1], [-1.0, 0.4]], np.float32)
    total = sum(float(p.detach().double().sum()) for p in loaded.policy.parameters())
    return loaded.predict(seen, deterministic=True)[0].tolist(), round(total, 3)


def ppo() -> Any:
    from stable_baselines3 import PPO

    model = PPO(
        "MlpPolicy",
        _environment(),
        n_steps=32,
        batch_size=16,
        n_epochs=2,
        seed=0,
        policy_kwargs={"net_arch": [8]},
        device="cpu",
    )
    return _after(model.learn(64))


def a2c() -> Any:
    from stable_baselines3 import A2C

    return _after(
        A2C(
            "MlpPolicy",
            _environment(True),
            n_steps=8,
            seed=0,
            policy_kwargs={"net_arch": [8]},
            device="cpu",
        ).learn(32)
    )


def dqn() -> Any:
    from stable_baselines3 import DQN

    given = {
        "learning_starts": 16,
        "batch_size": 8,
        "train_freq": 4,
        "buffer_size": 64,
        "target_update_interval": 16,
    }
    return _after(
        DQN(
            "MlpPolicy",
            _environment(),
            seed=0,
            policy_kwargs={"net_arch": [8]},
            device="cpu",
            **given,
        ).learn(40)
    )


def sac() -> Any:
    from stable_baselines3 import SAC

    given = {"learning_starts": 8, "batch_size": 8, "buffer_size": 64}
    return _after(
        SAC(
            "MlpPolicy",
            _environment(True),
            seed=0,
            policy_kwargs={"net_arch": [8]},
            device="cpu",
            **given,
        ).learn(16)
    )
