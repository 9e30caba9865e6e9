"""Train PPO in one file, as CleanRL does, against a fixed opponent, and judge it exactly.

    python examples/ppo.py                                    # Leduc poker against uniform play
    python examples/ppo.py --game kuhn_poker --opponent cfr_plus --save ppo.npz

The learner knows only the vector environment: observations, masks of legal actions and rewards.
Afterwards the exact value of its policy is compared with that of a best response to the same
opponent. PPO is Schulman, Wolski, Dhariwal, Radford and Klimov (2017); the details follow Huang,
Dossa, Ye and Braga (CleanRL, 2022): GAE, normalised advantages, clipped losses, a decreasing
learning rate. Needs `pip install 'counterplay[deep,rl]'`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import optax

import counterplay as cp
from counterplay.interop import BestResponseEnv, BestResponseVectorEnv, judge_agent
from counterplay.interop.gymnasium_env import AgentJudgement

HIDDEN_SIZE = 64
NUM_ENVS, NUM_STEPS = 256, 16  # episodes at once, and steps of each before an update
NUM_EPOCHS, NUM_MINIBATCHES = 4, 4
GAMMA, GAE_LAMBDA = 1.0, 0.95  # episodes are short and end
CLIP_EPS, ENTROPY_COEF, VALUE_COEF = 0.2, 0.01, 0.5
LEARNING_RATE, MAX_GRADIENT_NORM = 2.5e-3, 0.5

Parameters = dict[str, jax.Array]


def init_parameters(key: jax.Array, num_inputs: int, num_actions: int) -> Parameters:
    """Return the weights of a network with two hidden layers, a policy head and a value head."""
    sizes = {"1": (num_inputs, HIDDEN_SIZE), "2": (HIDDEN_SIZE, HIDDEN_SIZE)}
    sizes |= {"policy": (HIDDEN_SIZE, num_actions), "value": (HIDDEN_SIZE, 1)}
    scales = {"1": 2.0**0.5, "2": 2.0**0.5, "policy": 0.01, "value": 1.0}
    parameters = {}
    for (name, size), layer_key in zip(sizes.items(), jax.random.split(key, 4), strict=True):
        initialise = jax.nn.initializers.orthogonal(scales[name])
        parameters[f"w_{name}"] = initialise(layer_key, size)
        parameters[f"b_{name}"] = jnp.zeros(size[1])
    return parameters


def forward(parameters, observations, masks):
    """Return logits [B, A], minus infinity at illegal actions, and values [B]."""
    hidden = jnp.tanh(observations @ parameters["w_1"] + parameters["b_1"])
    hidden = jnp.tanh(hidden @ parameters["w_2"] + parameters["b_2"])
    logits = hidden @ parameters["w_policy"] + parameters["b_policy"]
    values = (hidden @ parameters["w_value"] + parameters["b_value"])[:, 0]
    return jnp.where(masks > 0, logits, -1e9), values


def loss(parameters, batch):
    """Return the clipped loss of PPO on a minibatch."""
    logits, values = forward(parameters, batch["observation"], batch["mask"])
    log_policy = jax.nn.log_softmax(logits)
    log_probability = jnp.take_along_axis(log_policy, batch["action"][:, None], 1)[:, 0]
    ratio = jnp.exp(log_probability - batch["log_probability"])
    advantage = batch["advantage"]
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    clipped = jnp.clip(ratio, 1.0 - CLIP_EPS, 1.0 + CLIP_EPS)
    policy_loss = -jnp.minimum(ratio * advantage, clipped * advantage).mean()
    entropy = -(jnp.exp(log_policy) * jnp.where(batch["mask"] > 0, log_policy, 0.0)).sum(1).mean()
    value_loss = 0.5 * ((values - batch["return"]) ** 2).mean()
    return policy_loss - ENTROPY_COEF * entropy + VALUE_COEF * value_loss


def train(opponent: cp.Policy, player: int, num_updates: int, seed: int = 0) -> Parameters:
    """Return the weights of a network that PPO has trained in one seat."""
    envs = BestResponseVectorEnv(opponent, player=player, num_envs=NUM_ENVS)
    num_inputs = envs.single_observation_space.shape[0]
    parameters = init_parameters(jax.random.key(seed), num_inputs, int(envs.single_action_space.n))
    schedule = optax.linear_schedule(LEARNING_RATE, 0.0, num_updates * NUM_EPOCHS * NUM_MINIBATCHES)
    optimiser = optax.chain(
        optax.clip_by_global_norm(MAX_GRADIENT_NORM), optax.adam(schedule, eps=1e-5)
    )
    state = optimiser.init(parameters)
    run_network = jax.jit(forward)

    @jax.jit
    def update(parameters, state, batch):
        gradient = jax.grad(loss)(parameters, batch)
        step, state = optimiser.update(gradient, state)
        return optax.apply_updates(parameters, step), state

    rng = np.random.default_rng(seed)
    observations, infos = envs.reset(seed=seed)
    for _ in range(num_updates):
        steps = []
        for _ in range(NUM_STEPS):
            masks = infos["action_mask"]
            logits, values = map(np.asarray, run_network(parameters, observations, masks))
            actions = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
            log_policy = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
            step = {"observation": observations, "mask": masks, "action": actions, "value": values}
            step["log_probability"] = log_policy[np.arange(NUM_ENVS), actions]
            observations, step["reward"], step["done"], _, infos = envs.step(actions)
            steps.append(step)
        _, last_value = run_network(parameters, observations, infos["action_mask"])
        batch = make_batch(steps, np.asarray(last_value))
        for _ in range(NUM_EPOCHS):
            order = rng.permutation(NUM_ENVS * NUM_STEPS)
            for rows in np.split(order, NUM_MINIBATCHES):
                minibatch = {name: column[rows] for name, column in batch.items()}
                parameters, state = update(parameters, state, minibatch)
    return parameters


def make_batch(steps: list[dict[str, np.ndarray]], last_value: np.ndarray) -> dict[str, np.ndarray]:
    """Return the steps as columns [B, ...], with advantages by GAE and returns."""
    advantage, next_value = np.zeros(NUM_ENVS), last_value
    for step in reversed(steps):
        goes_on = 1.0 - step["done"]
        error = step["reward"] + GAMMA * goes_on * next_value - step["value"]
        advantage = error + GAMMA * GAE_LAMBDA * goes_on * advantage
        step["advantage"], step["return"] = advantage, advantage + step["value"]
        next_value = step["value"]
    names = ("observation", "mask", "action", "log_probability", "advantage", "return")
    columns = {name: np.concatenate([step[name] for step in steps]) for name in names}
    kinds = {"mask": np.int8, "action": np.int32}
    return {name: column.astype(kinds.get(name, np.float32)) for name, column in columns.items()}


def judge_network(opponent: cp.Policy, player: int, parameters: Parameters) -> AgentJudgement:
    """Return the exact value of the trained policy, and that of a best response."""

    def agent(observation, mask):
        return jax.nn.softmax(forward(parameters, observation[None], mask[None])[0][0])

    return judge_agent(BestResponseEnv(opponent, player=player), agent)


def main(arguments: Sequence[str] | None = None) -> list[AgentJudgement]:
    """Train and judge a network for every seat; print and return the judgements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", default="leduc_poker")
    parser.add_argument("--opponent", default="uniform", help="uniform, or an algorithm")
    parser.add_argument("--updates", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", help="write the weights to this .npz file")
    options = parser.parse_args(arguments)
    tree = cp.build_tree(options.game)
    is_uniform = options.opponent == "uniform"
    opponent = cp.uniform_policy(tree) if is_uniform else cp.solve(tree, options.opponent).policy
    judgements, weights = [], {}
    print(f"{options.game} against {options.opponent}")
    print("seat  value of PPO  best response  uniform")
    for player in range(tree.num_players):
        parameters = train(opponent, player, options.updates, options.seed)
        weights |= {f"{player}_{name}": np.asarray(p) for name, p in parameters.items()}
        judgement = judge_network(opponent, player, parameters)
        judgements.append(judgement)
        uniform = judge_agent(BestResponseEnv(opponent, player=player), lambda x, mask: mask)
        print(
            f"{player:4}  {judgement.value:12.4f}  {judgement.best_value:13.4f}  "
            f"{uniform.value:7.4f}"
        )
    if options.save:
        np.savez(options.save, **weights)
    return judgements


if __name__ == "__main__":
    main()
