"""Hyperparameter schedules of Zhang, McAleer and Sandholm (2024): exponents linear in t / n.

The average with the exponents gamma_t is defined by its decay,

    policy_sum = policy_sum * (t / (t + 1))**gamma_t + reach * policy,   gamma_t = start - drop t/n

so iteration t has the weight product over s < t of ((s + 1) / s)**gamma_s. Its logarithm is

    start * log t - drop / n * (t log t - log t!)        for t <= n

and gamma stays at start - drop afterwards.
"""

from __future__ import annotations

import numpy as np

from counterplay.core.arena import Floats


def progress(t: Floats, horizon: int) -> Floats:
    """Return t / n, at most 1."""
    return np.minimum(t / horizon, 1.0)


def average_weights(t: Floats, horizon: int, start: float, drop: float) -> Floats:
    """Return the weights [T, 1] of iterations t [T] in the average, relative to iteration n."""
    from scipy.special import gammaln

    def log_weight(steps: Floats) -> Floats:
        log_steps = np.log(steps)
        decline = (steps * log_steps - gammaln(steps + 1.0)) / horizon
        return np.asarray(start * log_steps - drop * decline)

    planned = log_weight(np.minimum(t, horizon)) - log_weight(np.array(float(horizon)))
    later = (start - drop) * np.log(np.maximum(t / horizon, 1.0))
    return np.exp(planned + later)[:, None]
