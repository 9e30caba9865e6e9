"""The update equations of CFR and of matrix learners, filled in with the numbers of one step.

An equation has a general form, in the names of the code and in the symbols of the papers, and one
line per action with numbers. `counterplay trace` and the page Trace of the studio show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from counterplay.algorithms.cfr.trace import InfosetStep
from counterplay.core.arena import Floats
from counterplay.matrix.trace import LearnerStep

MAX_TERMS = 6  # of a sum that is written out
ROUNDING_ERROR = 1e-14  # regrets up to this count as zero, as in the engine


@dataclass(frozen=True)
class EquationLine:
    """An equation with numbers."""

    label: str  # an action, or "infoset" or "mixture" for a sum over all actions
    text: str  # the right-hand side with numbers
    value: float  # the result


@dataclass(frozen=True)
class Equation:
    """A quantity of an update: its definition, and the numbers of one step."""

    title: str
    formula: str  # in the names of the code
    symbols: str  # in the symbols of the papers
    lines: tuple[EquationLine, ...] = field(default_factory=tuple)


def cfr_equations(step: InfosetStep) -> list[Equation]:
    """Return the equations of an infoset's update, in the order of computation."""
    return [
        _cf_reach_equation(step),
        _cf_value_equation(step),
        _value_equation(step),
        _instant_regret_equation(step),
        _regret_equation(step),
        _next_policy_equation(step),
        _policy_sum_equation(step),
        _average_equation(step.actions, step.policy_sum, step.average_policy),
    ]


def _cf_reach_equation(step: InfosetStep) -> Equation:
    terms = [format_number(term.cf_reach) for term in step.histories]
    return Equation(
        "Counterfactual reach",
        "cf_reach = sum over histories h of cf_reach(h)",
        "π₋ᵢ(I) = Σ π₋ᵢ(h)",
        (EquationLine("infoset", _sum_text(terms), step.cf_reach),),
    )


def _cf_value_equation(step: InfosetStep) -> Equation:
    lines = []
    for number, action in enumerate(step.actions):
        terms = [
            f"{format_number(term.cf_reach)} * {_factor(float(term.action_value[number]))}"
            for term in step.histories
        ]
        lines.append(EquationLine(action, _sum_text(terms), float(step.cf_value[number])))
    return Equation(
        "Counterfactual value of each action",
        "cf_value(a) = sum over h of cf_reach(h) * value(h, a)",
        "v(I, a) = Σ π₋ᵢ(h) · uᵢ(h a)",
        tuple(lines),
    )


def _value_equation(step: InfosetStep) -> Equation:
    return Equation(
        "Value of the infoset",
        "value = sum over a of policy(a) * cf_value(a)",
        "v(I) = Σ σ(a) · v(I, a)",
        (EquationLine("infoset", _dot_text(step.policy, step.cf_value), step.value),),
    )


def _instant_regret_equation(step: InfosetStep) -> Equation:
    lines = tuple(
        EquationLine(action, f"{format_number(cf_value)} - {_factor(step.value)}", float(regret))
        for action, cf_value, regret in zip(
            step.actions, step.cf_value, step.instant_regret, strict=True
        )
    )
    formula = "instant_regret(a) = cf_value(a) - value"
    return Equation("Instantaneous regret", formula, "r(a) = v(I, a) − v(I)", lines)


def _regret_equation(step: InfosetStep) -> Equation:
    positive, negative, _ = step.discounts
    is_plain, is_plus = positive == negative == 1.0, positive == 1.0 and negative == 0.0
    if is_plain:
        formula, symbols = "regret(a) + instant_regret(a)", "R(a) ← R(a) + r(a)"
    elif is_plus:
        formula = "max(regret(a) + instant_regret(a), 0)"
        symbols = "R(a) ← max(R(a) + r(a), 0)"
    else:
        formula = (
            f"d * (regret(a) + instant_regret(a)), d = {format_number(positive)} if positive, "
            f"{format_number(negative)} if negative"
        )
        symbols = "R(a) ← d · (R(a) + r(a))"
    lines = []
    for number, action in enumerate(step.actions):
        before, instant = float(step.previous_regret[number]), float(step.instant_regret[number])
        text = f"{format_number(before)} + {_factor(instant)}"
        if is_plus:
            text = f"max({text}, 0)"
        elif not is_plain:
            text = f"{format_number(positive if before + instant > 0.0 else negative)} * ({text})"
        lines.append(EquationLine(action, text, float(step.regret[number])))
    return Equation("Regret", f"regret(a) = {formula}", symbols, tuple(lines))


def _next_policy_equation(step: InfosetStep) -> Equation:
    if step.rule == "hedge":
        lines = tuple(
            EquationLine(action, f"exp({format_number(step.rate)} * {_factor(regret)}) / sum", p)
            for action, regret, p in _rows(step.actions, step.regret, step.next_policy)
        )
        formula = "policy(a) = exp(rate * regret(a)) / sum over b of exp(rate * regret(b))"
        return Equation("Next policy, by Hedge", formula, "σ(a) = e^(ηR(a)) / Σ e^(ηR(b))", lines)
    prediction = step.discounts[2]
    score = step.regret + prediction * step.instant_regret
    formula, symbols = "max(regret(a), 0)", "σ(a) = R⁺(a) / Σ R⁺(b)"
    if prediction:
        formula = f"max(regret(a) + {format_number(prediction)} * instant_regret(a), 0)"
        symbols = "σ(a) = [R(a) + m r(a)]⁺ / Σ [R(b) + m r(b)]⁺"
    return Equation(
        "Next policy, by regret matching",
        f"policy(a) = {formula} / their sum",
        symbols,
        _matching_lines(step.actions, score, step.next_policy, "1 / number of actions"),
    )


def _matching_lines(
    actions: Sequence[str], score: Floats, policy: Floats, fallback: str
) -> tuple[EquationLine, ...]:
    """Return the lines of regret matching; `fallback` is played if no score is positive."""
    score = np.where(np.abs(score) > ROUNDING_ERROR, score, 0.0)
    total = float(np.maximum(score, 0.0).sum())
    lines = []
    for action, value, probability in _rows(actions, score, policy):
        text = f"{format_number(max(value, 0.0))} / {format_number(total)}"
        if total <= 0.0:
            text = f"no regret is positive: {fallback}"
        lines.append(EquationLine(action, text, probability))
    return tuple(lines)


def _policy_sum_equation(step: InfosetStep) -> Equation:
    lines = []
    for number, action in enumerate(step.actions):
        before, probability = step.previous_policy_sum[number], step.policy[number]
        factors = [step.weight, step.reach, float(probability)]
        text = f"{format_number(before)} + {' * '.join(map(format_number, factors))}"
        lines.append(EquationLine(action, text, float(step.policy_sum[number])))
    return Equation(
        "Sum of policies",
        "policy_sum(a) = policy_sum(a) + weight * reach * policy(a)",
        "S(a) ← S(a) + wₜ · πᵢ(I) · σ(a)",
        tuple(lines),
    )


def _average_equation(actions: Sequence[str], total: Floats, average: Floats) -> Equation:
    weight = float(total.sum())
    text = "{} / {}" if weight > 0.0 else "no weight yet: the next policy"
    lines = tuple(
        EquationLine(action, text.format(format_number(part), format_number(weight)), probability)
        for action, part, probability in _rows(actions, total, average)
    )
    formula = "average(a) = policy_sum(a) / their sum"
    return Equation("Average policy", formula, "σ̄(a) = S(a) / Σ S(b)", lines)


def learner_equations(step: LearnerStep) -> list[Equation]:
    """Return the equations of a player's update in a normal form, in the order of computation."""
    equations = [
        _action_value_equation(step),
        Equation(
            "Value of the mixture",
            "value = sum over a of mixture(a) * u(a)",
            "u(x) = Σ x(a) · u(a)",
            (EquationLine("mixture", _dot_text(step.mixture, step.action_value), step.value),),
        ),
    ]
    equations += {
        "regret_matching": _regret_matching_equations,
        "regret_matching_plus": _regret_matching_equations,
        "fictitious_play": _fictitious_play_equations,
        "hedge": _hedge_equations,
        "replicator_dynamics": _replicator_equations,
    }[step.learner](step)
    return [*equations, _learner_average_equation(step)]


def _action_value_equation(step: LearnerStep) -> Equation:
    """Return the values of the actions; products are written out against one other player."""
    lines = []
    table = np.moveaxis(step.utility, step.player, 0)
    for number, action in enumerate(step.actions):
        if len(step.others) == 1:
            text = _dot_text(step.others_mixtures[0], table[number])
        else:
            text = f"expected utility against {len(step.others)} players"
        lines.append(EquationLine(action, text, float(step.action_value[number])))
    return Equation(
        "Value of each action",
        "u(a) = sum over the others' actions b of mixture(b) * utility(a, b)",
        "u(a) = Σ y(b) · U(a, b)",
        tuple(lines),
    )


def _regret_matching_equations(step: LearnerStep) -> list[Equation]:
    is_plus = step.learner == "regret_matching_plus"
    lines = []
    for number, action in enumerate(step.actions):
        before, value = step.previous_regret[number], step.action_value[number]
        text = f"{format_number(before)} + {_factor(value)} - {_factor(step.value)}"
        text = f"max({text}, 0)" if is_plus else text
        lines.append(EquationLine(action, text, float(step.regret[number])))
    formula = "regret(a) + u(a) - value"
    symbols = "R(a) ← R(a) + u(a) − u(x)"
    if is_plus:
        formula, symbols = f"max({formula}, 0)", "R(a) ← max(R(a) + u(a) − u(x), 0)"
    matching = _matching_lines(step.actions, step.regret, step.next_mixture, "the initial mixture")
    return [
        Equation("Regret", f"regret(a) = {formula}", symbols, tuple(lines)),
        Equation(
            "Next mixture, by regret matching",
            "mixture(a) = max(regret(a), 0) / their sum",
            "x(a) = R⁺(a) / Σ R⁺(b)",
            matching,
        ),
    ]


def _value_sum_equation(step: LearnerStep) -> Equation:
    before = step.value_sum - step.action_value
    lines = tuple(
        EquationLine(action, f"{format_number(total)} + {_factor(value)}", total + value)
        for action, total, value in _rows(step.actions, before, step.action_value)
    )
    formula = "value_sum(a) = value_sum(a) + u(a)"
    return Equation("Sum of values", formula, "Q(a) ← Q(a) + u(a)", lines)


def _fictitious_play_equations(step: LearnerStep) -> list[Equation]:
    best = format_number(float(step.value_sum.max()))
    lines = tuple(
        EquationLine(
            action,
            f"{format_number(total)} is the largest"
            if probability
            else f"{format_number(total)} is not the first of the largest, {best}",
            probability,
        )
        for action, total, probability in _rows(step.actions, step.value_sum, step.next_mixture)
    )
    return [
        _value_sum_equation(step),
        Equation(
            "Next mixture: a best response to the others' frequencies",
            "mixture(a) = 1 if value_sum(a) is the first of the largest, otherwise 0",
            "x ∈ argmax Q(a)",
            lines,
        ),
    ]


def _hedge_equations(step: LearnerStep) -> list[Equation]:
    top = float(step.value_sum.max())
    rate = format_number(step.step_size)
    lines = tuple(
        EquationLine(
            action,
            f"{format_number(initial)} * exp({rate} * {_factor(float(total) - top)}) / their sum",
            probability,
        )
        for action, initial, total, probability in _rows(
            step.actions, step.initial_mixture, step.value_sum, step.next_mixture
        )
    )
    return [
        _value_sum_equation(step),
        Equation(
            "Next mixture, by Hedge",
            "mixture(a) = initial(a) * exp(eta * (value_sum(a) - largest)) / their sum",
            "x(a) ∝ x₁(a) · e^(ηQ(a))",
            lines,
        ),
    ]


def _replicator_equations(step: LearnerStep) -> list[Equation]:
    rate, value = format_number(step.step_size), _factor(step.value)
    lines = tuple(
        EquationLine(
            action,
            f"{format_number(p)} * (1 + {rate} * ({format_number(u)} - {value}))"
            + (f", projected to at least {format_number(step.floor)}" if step.floor else ""),
            probability,
        )
        for action, p, u, probability in _rows(
            step.actions, step.mixture, step.action_value, step.next_mixture
        )
    )
    formula = "mixture(a) = mixture(a) * (1 + step_size / range * (u(a) - value))"
    symbols = "x(a) ← x(a) · (1 + (δ/D) · (u(a) − u(x)))"
    return [Equation("Next mixture, by replicator dynamics", formula, symbols, lines)]


def _learner_average_equation(step: LearnerStep) -> Equation:
    share = step.weight / step.total_weight if step.total_weight else 0.0
    previous = step.average
    if share < 1.0:
        previous = (step.average - share * step.mixture) / (1.0 - share)
    lines = tuple(
        EquationLine(
            action,
            f"{format_number(1.0 - share)} * {format_number(before)} + {format_number(share)} * "
            f"{format_number(p)}",
            after,
        )
        for action, before, p, after in _rows(step.actions, previous, step.mixture, step.average)
    )
    return Equation(
        "Average mixture",
        "average(a) = (1 - share) * average(a) + share * mixture(a), "
        "share = weight / sum of all weights",
        "x̄(a) ← (1 − wₜ/W) · x̄(a) + (wₜ/W) · x(a)",
        lines,
    )


def _rows(actions: Sequence[str], *columns: Floats) -> list[tuple[Any, ...]]:
    """Return tuples of an action and its numbers, one per column."""
    numbers = [[float(value) for value in column] for column in columns]
    return list(zip(actions, *numbers, strict=True))


def _dot_text(weights: Floats, values: Floats) -> str:
    """Return a sum of products with numbers."""
    pairs = zip(weights, values, strict=True)
    return _sum_text([f"{format_number(float(w))} * {_factor(float(v))}" for w, v in pairs])


def _sum_text(terms: list[str]) -> str:
    """Return a sum; of many terms the first ones and the number of the others."""
    if len(terms) <= MAX_TERMS:
        return " + ".join(terms) or "0"
    return f"{' + '.join(terms[:MAX_TERMS])} + ... ({len(terms) - MAX_TERMS} more terms)"


def format_number(value: float) -> str:
    """Return a number with four digits."""
    text = f"{value:.4g}"
    return "0" if text == "-0" else text


def _factor(value: float) -> str:
    """Return a number, in brackets if it is negative."""
    text = format_number(value)
    return f"({text})" if text.startswith("-") else text


def step_to_json(step: InfosetStep | LearnerStep | Equation) -> dict[str, Any]:
    """Return the fields of a step or an equation, with arrays and tuples as lists."""
    fields: dict[str, Any] = _to_lists(asdict(step))
    return fields


def _to_lists(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _to_lists(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_lists(item) for item in value]
    return value
