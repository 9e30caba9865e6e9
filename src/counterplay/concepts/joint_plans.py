"""Joint plans of several players: local improvement and mixed-integer programmes."""

from __future__ import annotations

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints, row_lengths
from counterplay.errors import RunError


def infoset_pairs_on_paths(tree: TreeArena, first: int, second: int) -> set[tuple[int, int]]:
    """Return the pairs of infosets of two players that some path passes through."""
    pairs: set[tuple[int, int]] = set()
    players, parents = tree.player.tolist(), tree.parent.tolist()
    infosets = tree.infoset.tolist()
    for node, player in enumerate(players):
        if player != first and player != second:
            continue
        above, partner = parents[node], second if player == first else first
        while above >= 0:
            if players[above] == partner:
                pair = infosets[node], infosets[above]
                pairs.add(pair if player == first else (pair[1], pair[0]))
            above = parents[above]
    return pairs


class JointPlanProgram:
    """The programmes of a team's best joint plan."""

    def __init__(self, tree: TreeArena, team: tuple[int, ...]):
        self.tree, self.team = tree, team
        form, infosets = tree.form, [*map(int, tree.form.player_infoset)]
        self.infosets = {m: range(infosets[m], infosets[m + 1]) for m in team}
        self.sequences = {
            m: np.arange(int(form.offset[infosets[m]]), int(form.offset[infosets[m + 1]]))
            for m in team
        }
        self.offset, self.parent = form.offset.tolist(), form.parent.tolist()

    def respond(self, member: int, values: Floats) -> Floats:
        """Return the best plan [S + 1] of one member for values of its last sequences [S + 1]."""
        totals, choice = values.tolist(), {}
        for infoset in reversed(self.infosets[member]):
            first, end = self.offset[infoset], self.offset[infoset + 1]
            best = max(range(first, end), key=totals.__getitem__)
            choice[infoset] = best
            totals[self.parent[infoset]] += totals[best]
        plan = np.zeros(len(totals))
        plan[-1] = 1.0
        for infoset, best in reversed(choice.items()):
            plan[best] = plan[self.parent[infoset]]
        return plan

    def random_plan(self, rng: np.random.Generator) -> Floats:
        """Return a random joint plan [S + 1]."""
        scores = np.append(rng.random(self.tree.num_sequences), 0.0)
        plan = sum(self.respond(member, scores) for member in self.team)
        return np.minimum(plan, 1.0)

    def improve_plan(self, weight: Floats, last: Ints, plan: Floats) -> tuple[Floats, float]:
        """Let the members respond to each other until none gains; return the plan and its value.

        Args:
            weight: [T] of products of the members' plans.
            last: [T, P] sequences of the products, by player.
            plan: [S + 1] the joint plan to start from.
        """
        value = -np.inf
        while True:
            before = value
            for member in self.team:
                own = weight.copy()
                for other in self.team:
                    if other != member:
                        own *= plan[last[:, other]]
                totals = np.bincount(last[:, member], own, plan.size).astype(float, copy=False)
                response, sequences = self.respond(member, totals), self.sequences[member]
                plan = plan.copy()
                plan[sequences] = response[sequences]
            value = float(weight @ np.prod(plan[last[:, list(self.team)]], axis=1))
            if value <= before + 1e-12 * abs(value) or len(self.team) == 1:
                return plan, value

    def _plan_rows(self, members: tuple[int, ...]) -> list[tuple[dict[int, float], float]]:
        """Return the rows of sequence forms: coefficients by sequence, and the right side."""
        rows = [({self.tree.num_sequences: 1.0}, 1.0)]
        for member in members:
            for infoset in self.infosets[member]:
                row = dict.fromkeys(range(self.offset[infoset], self.offset[infoset + 1]), 1.0)
                row[self.parent[infoset]] = -1.0
                rows.append((row, 0.0))
        return rows

    def solve_pairs(self, weight: Floats, last: Ints, accuracy: float) -> tuple[Floats, float]:
        """Return a plan of two members that earns the weights [Z] of terminals, and a bound."""
        tree, root = self.tree, self.tree.num_sequences
        members = sorted(self.team, key=lambda m: self.sequences[m].size)  # the first is integral
        connected = infoset_pairs_on_paths(tree, members[0], members[1])
        owner = np.repeat(np.arange(tree.num_infosets), row_lengths(tree.form.offset)).tolist()
        sequences = [[*self.sequences[m].tolist(), root] for m in members]
        column = {
            (s, t): k
            for k, (s, t) in enumerate(
                (s, t)
                for s in sequences[0]
                for t in sequences[1]
                if root in (s, t) or (owner[s], owner[t]) in connected
            )
        }
        rows: list[tuple[dict[int, float], float]] = [({column[root, root]: 1.0}, 1.0)]
        for side in range(2):
            for infoset in self.infosets[members[side]]:
                below = range(self.offset[infoset], self.offset[infoset + 1])
                for t in sequences[1 - side]:
                    pairs = [
                        (s, t) if side == 0 else (t, s) for s in (*below, self.parent[infoset])
                    ]
                    if pairs[0] in column:
                        row = {column[pair]: 1.0 for pair in pairs[:-1]}
                        row[column[pairs[-1]]] = -1.0
                        rows.append((row, 0.0))
        gain = np.zeros(len(column))
        ends = zip(*last[:, members].T.tolist(), strict=True)
        np.add.at(gain, [column[pair] for pair in ends], weight)
        integral = [column[s, root] for s in sequences[0][:-1]]
        x, bound = self._maximise(gain, rows, integral, accuracy)
        plan = np.zeros(root + 1)
        for s in sequences[0]:
            plan[s] = round(x[column[s, root]])
        totals = np.bincount(last[:, members[1]], weight * plan[last[:, members[0]]], root + 1)
        response = self.respond(members[1], totals.astype(float, copy=False))
        own = self.sequences[members[1]]
        plan[own] = response[own]
        return plan, bound

    def solve_terminals(self, weight: Floats, last: Ints, accuracy: float) -> tuple[Floats, float]:
        """Return a plan of any number of members for weights [Z] of terminals, and a bound.

        p(z) is at most the plan of every member, and at least 1 minus what they lack of 1.
        """
        root = self.tree.num_sequences
        keys, groups = np.unique(last[:, list(self.team)], axis=0, return_inverse=True)
        totals = np.bincount(groups.ravel(), weight, len(keys))
        rows = self._plan_rows(self.team)
        limits: list[tuple[dict[int, float], float]] = []  # rows with "at most"
        for k, key in enumerate(keys.tolist()):
            if totals[k] > 0.0:
                limits += [({root + 1 + k: 1.0, s: -1.0}, 0.0) for s in set(key)]
            elif totals[k] < 0.0:
                distinct = set(key)
                row = dict.fromkeys(distinct, 1.0) | {root + 1 + k: -1.0}
                limits.append((row, len(distinct) - 1.0))
        gain = np.concatenate([np.zeros(root + 1), totals])
        integral = np.concatenate([self.sequences[m] for m in self.team]).tolist()
        x, bound = self._maximise(gain, rows, integral, accuracy, limits)
        return np.round(x[: root + 1]), bound

    def _maximise(
        self,
        gain: Floats,
        rows: list[tuple[dict[int, float], float]],
        integral: list[int],
        accuracy: float,
        limits: list[tuple[dict[int, float], float]] | None = None,
    ) -> tuple[Floats, float]:
        """Return variables from 0 to 1 that maximise a gain, and a bound of the maximum."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array

        both = [*rows, *(limits or [])]
        entries = [(i, c, v) for i, (row, _) in enumerate(both) for c, v in row.items()]
        row, column, factor = map(np.array, zip(*entries, strict=True))
        index = row.astype(np.int32), column.astype(np.int32)  # the only type that SciPy 1.12 takes
        high = np.array([right for _, right in both])
        low = np.concatenate([high[: len(rows)], np.full(len(both) - len(rows), -np.inf)])
        scale = float(np.abs(gain).max(initial=0.0)) or 1.0
        integrality = np.zeros(gain.size)
        integrality[integral] = 1.0
        matrix = coo_array((factor, index), shape=(len(both), gain.size)).tocsr()
        result = milp(
            -gain / scale,
            integrality=integrality,
            bounds=Bounds(np.zeros(gain.size), np.ones(gain.size)),
            constraints=LinearConstraint(matrix, low, high),
            options={"mip_rel_gap": min(accuracy / scale, 0.01)},
        )
        if result.x is None:
            raise RunError(f"the best joint plan of {self.tree.spec} was not found")
        bound = result.fun if result.mip_dual_bound is None else result.mip_dual_bound
        return result.x, float(-bound * scale)
