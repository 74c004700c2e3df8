"""Signs that a document has lost its thread: words that point back to what is no longer there.

Signs, not proof: a pronoun at the beginning of a sentence whose forerunner in the source was dropped usually points
nowhere, a connective there ties to nothing, and a name whose introduction was dropped appears without explanation.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Needs
from plainly.metrics.means import CheckedMetric, ratio
from plainly.text.sentence_alignment import Alignment, align_many
from plainly.text.words import words

_LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_PRONOUNS, _CONNECTIVES, _NOT_NAMES = (
    frozenset(_LISTS[name].split()) for name in ("pronouns", "connectives", "not_names")
)
_NAME = re.compile(r"[A-Z][\w’'-]*[a-z][\w’'-]*(?: (?:of |de |van |the )?[A-Z][\w’'-]*)*")
_BLOCK = 64


@dataclass(frozen=True, repr=False)
class Coherence(CheckedMetric):
    """Signs of a lost thread, as shares of the output's sentences: 0 is best."""

    name: ClassVar[str] = "coherence"
    needs: ClassVar[Needs] = frozenset({"source"})
    better: ClassVar[Better] = "lower"
    outputs: ClassVar[tuple[str, ...]] = ("signs", "dangling", "stranded", "unexplained", "connectives")
    shown: ClassVar[tuple[str, ...]] = outputs

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rows = np.zeros((len(outputs), 5))
        for start in range(0, len(outputs), _BLOCK):
            stop = start + _BLOCK
            alignments = align_many(evalset.sources[start:stop], outputs[start:stop], encoder=False)
            rows[start:stop] = [signs(alignment) for alignment in alignments]
        return rows

    def score(self, totals: Floats) -> Floats:
        shares = ratio(totals[..., :4], totals[..., 4:])
        return np.concatenate([shares[..., :3].sum(axis=-1, keepdims=True), shares], axis=-1)


def signs(alignment: Alignment) -> tuple[int, int, int, int, int]:
    """Dangling pronouns, stranded connectives, unexplained names, connectives in all, and output sentences."""
    sources_of = {j: link.source for link in alignment.links for j in link.output}
    dropped = {i for link in alignment.links if not link.output for i in link.source}
    dangling = stranded = connectives = 0
    for j, sentence in enumerate(alignment.output):
        first = next(iter(words(sentence.text)), "").casefold()
        origin = min(sources_of.get(j, ()), default=None)
        # What stood before it in the source and what stands before it now; a text's beginning has nothing before it.
        lost = (j == 0 and origin not in (None, 0)) or (origin is not None and origin - 1 in dropped)
        begins = origin is not None and _begins_alike(alignment.source[origin].text, first)
        dangling += first in _PRONOUNS and ((lost and begins) or (j == 0 and origin not in (None, 0)))
        connectives += first in _CONNECTIVES
        stranded += first in _CONNECTIVES and (j == 0 or (lost and begins))
    return dangling, stranded, _unexplained(alignment, dropped), connectives, len(alignment.output)


def _begins_alike(source: str, first: str) -> bool:
    return next(iter(words(source)), "").casefold() == first


def _unexplained(alignment: Alignment, dropped: set[int]) -> int:
    """Names that the source introduced in a sentence that was dropped, and that the output uses all the same."""
    introduced: dict[str, int] = {}
    for i, sentence in enumerate(alignment.source):
        for name in _names(sentence.text):
            introduced.setdefault(name, i)
    used = {name for sentence in alignment.output for name in _names(sentence.text)}
    return sum(introduced.get(name, -1) in dropped for name in used)


def _names(sentence: str) -> set[str]:
    return {
        name
        for name in _NAME.findall(sentence)
        if name.casefold() not in _NOT_NAMES and not (sentence.startswith(name) and " " not in name)
    }
