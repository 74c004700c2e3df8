"""What an attack is: a small function that rewrites one output, and what a sound metric should make of it.

An attack sees an item and a generator of random numbers and gives back the text that stands in for the output, or a
``Rewritten``, which says place by place what was changed. It never touches sources or references. Where it finds
nothing to do (no number to change, no second sentence to drop) it gives back the output as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, TypeVar

import numpy as np
from rapidfuzz.distance import Postfix, Prefix

from plainly.auditing.names import Namer
from plainly.core.evalset import EvalSet
from plainly.core.metric import Needs

Expected = Literal["better", "worse", "unchanged"]


@dataclass(frozen=True)
class Replacement:
    """``before`` stood at ``start`` of the output, and ``after`` stands in its place; either may be empty."""

    start: int
    before: str
    after: str


@dataclass(frozen=True)
class Rewritten:
    """A text that stands in for an output, and what was changed to make it, in the order of the text."""

    text: str
    changes: tuple[Replacement, ...] = ()

    @property
    def applied(self) -> bool:
        """Whether there was anything to do."""
        return bool(self.changes)

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Where each change stands in the text as it is now."""
        spans, moved = [], 0
        for change in self.changes:
            start = change.start + moved
            spans.append((start, start + len(change.after)))
            moved += len(change.after) - len(change.before)
        return tuple(spans)

    @classmethod
    def of(cls, output: str, places: Iterable[tuple[int, int, str]]) -> Rewritten:
        """The output with other words at some places: (start, end, what stands there now), apart from each other."""
        changes = [Replacement(start, output[start:end], after) for start, end, after in sorted(places)]
        changes = [change for change in changes if change.before != change.after]
        pieces, at = [], 0
        for change in changes:
            pieces += [output[at : change.start], change.after]
            at = change.start + len(change.before)
        return cls("".join([*pieces, output[at:]]), tuple(changes))

    @classmethod
    def between(cls, output: str, text: str) -> Rewritten:
        """A text of which nothing else is known: one change, without what the two have in common at either end."""
        if output == text:
            return cls(text)
        head = Prefix.similarity(output, text)
        tail = Postfix.similarity(output[head:], text[head:])
        return cls(text, (Replacement(head, output[head : len(output) - tail], text[head : len(text) - tail]),))


@dataclass(frozen=True)
class SystemOutputs:
    """An evaluation set and one system's outputs for it: what an attack may look at."""

    evalset: EvalSet
    outputs: tuple[str, ...]

    @cached_property
    def items(self) -> tuple[Item, ...]:
        return tuple(Item(self, position) for position in range(len(self.outputs)))

    @cached_property
    def namer(self) -> Namer:
        """Who knows which words of these texts are names."""
        return Namer.of([*self.outputs, *self.evalset.sources])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names that occur in the outputs, each once: what ``swap-names`` puts in place of others."""
        return tuple(dict.fromkeys(text[a:b] for text in self.outputs for a, b in self.namer.spans(text)))


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


Rewrite = Callable[[Item, np.random.Generator], str | Rewritten]
Function = TypeVar("Function", bound=Callable[..., str | Rewritten])


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
        rewritten = (self.rewrite(item, rng) for item in system.items)
        return [text if isinstance(text, str) else text.text for text in rewritten]

    def records(self, system: SystemOutputs, rng: np.random.Generator) -> list[Rewritten]:
        """The texts that ``apply`` gives with the same random numbers, each with what was changed in it."""
        rewritten = ((item.output, self.rewrite(item, rng)) for item in system.items)
        return [text if isinstance(text, Rewritten) else Rewritten.between(output, text) for output, text in rewritten]


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
