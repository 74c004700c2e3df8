"""What speaks for and against a value of the output, and how likely it is wrong.

Each value is described by numbers: what it replaces, what explains it, how the words around it agree. A small ensemble
of decision trees, fitted by ``bench/value_judge.py`` to texts with known errors, turns them into a confidence. There is
one for values that the source does not have, and one for values that it has, which may stand for another thing here.
"""

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

Evidence = dict[str, float]
_FILE = Path(__file__).with_name("value_judge.json")


class Trees(msgspec.Struct, frozen=True):
    """A boosted ensemble: each tree is a leaf, or a feature, a threshold, and the trees below and above it."""

    features: list[str]
    base: float
    trees: list[Any]

    def probability(self, evidence: Mapping[str, float]) -> float:
        """Return the probability that the value is wrong; features that are not given are 0."""
        row = [evidence.get(name, 0.0) for name in self.features]
        total = self.base
        for node in self.trees:
            while isinstance(node, list):
                node = node[2] if row[node[0]] <= node[1] else node[3]
            total += node
        return 1 / (1 + math.exp(-total))


@cache
def judges() -> dict[str, Trees]:
    """Return the ensembles by what they judge: "new" and "equal" values."""
    return msgspec.json.decode(_FILE.read_bytes(), type=dict[str, Trees])


def capped(number: float, most: float) -> float:
    """Return a number, at most ``most``: beyond that, more says nothing new."""
    return float(min(number, most))
