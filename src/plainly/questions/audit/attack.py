"""What an attack is: a small function that rewrites one output, and what a sound metric should make of it.

An attack sees an item and a generator of random numbers and gives back the text that stands in for the output. It never
touches sources or references. Where it finds nothing to do (no number to change, no second sentence to drop) it gives
back the output as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, TypeVar

import numpy as np

from plainly.evalset import EvalSet
from plainly.protocol import Needs
from plainly.questions.audit.wordlists import names

Expected = Literal["better", "worse", "unchanged"]


@dataclass(frozen=True)
class SystemOutputs:
    """An evaluation set and one system's outputs for it: what an attack may look at."""

    evalset: EvalSet
    outputs: tuple[str, ...]

    @cached_property
    def items(self) -> tuple[Item, ...]:
        return tuple(Item(self, position) for position in range(len(self.outputs)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names that occur in the outputs, each once: what ``swap-names`` puts in place of others."""
        return tuple(dict.fromkeys(text[a:b] for text in self.outputs for a, b in names(text)))


@dataclass(frozen=True)
class Item:
    """One output with everything around it."""

    system: SystemOutputs = field(repr=False)
    position: int

    @cached_property
    def output(self) -> str:
        return self.system.outputs[self.position]

    @property
    def source(self) -> str:
        return self.system.evalset.sources[self.position]

    @property
    def references(self) -> tuple[str, ...]:
        references = self.system.evalset.references
        return references[self.position] if references else ()

    def other(self, rng: np.random.Generator) -> int:
        """The position of another item, each as likely as the next; this one's where there is no other."""
        n = len(self.system.outputs)
        return int(self.position + 1 + rng.integers(n - 1)) % n if n > 1 else self.position


Rewrite = Callable[[Item, np.random.Generator], str]
Function = TypeVar("Function", bound=Callable[..., str])


@dataclass(frozen=True)
class Attack:
    """A named way to rewrite outputs. ``expected`` is what should happen to the score of a sound metric."""

    name: str
    rewrite: Rewrite = field(repr=False)
    expected: Expected
    what: str
    random: bool = True  # False: every trial writes the same, so one is measured
    needs: Needs = frozenset()
    paper: bool = False  # one of the six of Tanprasert & Kauchak (2021)

    def apply(self, system: SystemOutputs, rng: np.random.Generator) -> list[str]:
        """Every output, rewritten."""
        return [self.rewrite(item, rng) for item in system.items]


ATTACKS: dict[str, Attack] = {}


def attack(
    name: str, expected: Expected, what: str, *, word: str = "", **stated: Any
) -> Callable[[Function], Function]:
    """Register the function below as an attack; with a ``word``, which it then takes beside item and generator."""

    def register(function: Function) -> Function:
        rewrite = partial(function, word=word) if word else function
        ATTACKS[name] = Attack(name, rewrite, expected, what, **stated)
        return function

    return register
