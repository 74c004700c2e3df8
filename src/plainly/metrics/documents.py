"""Documents: what became of the sentences of the source, and signs that the output has lost its thread.

Signs, not proof: a pronoun at the beginning of a sentence whose predecessor in the source was dropped usually points
nowhere, a connective there ties to nothing, and a name whose introduction was dropped appears without explanation.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.files import read_shipped
from plainly.core.metric import Better, Floats, Metric, Needs, ratio
from plainly.text.languages import language as known_language
from plainly.text.sentence_alignment import HAPPENED, Alignment, align_many
from plainly.text.words import words

_BLOCK = 64  # documents whose alignments are held at once
_OF_SOURCE = (*(name for name in HAPPENED if name != "added"), "moved")
_LISTS = read_shipped(__file__, "coherence.toml")
_PRONOUNS, _CONNECTIVES, _NOT_NAMES = (
    frozenset(_LISTS[name].split()) for name in ("pronouns", "connectives", "not_names")
)
_NAME = re.compile(r"[A-Z][\w’'-]*[a-z][\w’'-]*(?: (?:of |de |van |the )?[A-Z][\w’'-]*)*")


@dataclass(frozen=True, repr=False)
class Coverage(Metric):
    """The share of the source's sentences that the output covers, and what became of the sentences.

    All but the last two are shares: ``covered`` of the source's sentences have a counterpart in the output; of them
    some were ``kept`` word for word, ``rephrased``, ``split``, ``merged`` with others or ``reorganised`` (several into
    several); the others were ``dropped``; ``moved`` ones stand in another order. ``added`` is the share of the output's
    sentences that answer to nothing in the source. ``sentences`` and ``source_sentences`` are averages a text. A
    document may well be better for dropping half of its source: this describes and does not judge. ``meaning=true``
    aligns by what sentences mean as well as by their words. Sentences end as in the ``language`` of the texts.
    """

    meaning: bool = False
    language: str = "en"

    name: ClassVar[str] = "coverage"
    needs: ClassVar[Needs] = frozenset({"source"})
    better: ClassVar[Better] = "neither"
    outputs: ClassVar[tuple[str, ...]] = ("covered", *_OF_SOURCE, "added", "sentences", "source_sentences")
    main_outputs: ClassVar[tuple[str, ...]] = ("covered", *_OF_SOURCE, "added")

    def __post_init__(self) -> None:
        super().__post_init__()
        known_language(self.language)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rows = np.zeros((len(outputs), len(_OF_SOURCE) + 4))
        for start in range(0, len(outputs), _BLOCK):
            stop = start + _BLOCK
            texts = evalset.sources[start:stop], outputs[start:stop]
            alignments = align_many(*texts, encoder=self.meaning, language=self.language)
            rows[start:stop] = [_row(alignment) for alignment in alignments]
        return rows

    def score(self, totals: Floats) -> Floats:
        *_, added, source, output, texts = np.moveaxis(totals, -1, 0)
        of_source = ratio(totals[..., : len(_OF_SOURCE)], source[..., None])
        covered = 1 - of_source[..., _OF_SOURCE.index("dropped")]
        rest = (ratio(added, output), ratio(output, texts), ratio(source, texts))
        scores: Floats = np.concatenate([covered[..., None], of_source, np.stack(rest, axis=-1)], axis=-1)
        return scores


def _row(alignment: Alignment) -> list[float]:
    counts = alignment.counts()
    sizes = [len(alignment.source), len(alignment.output)]
    return [*(counts[name] for name in _OF_SOURCE), counts["added"], *sizes, float(any(sizes))]


@dataclass(frozen=True, repr=False)
class Coherence(Metric):
    """Signs of a lost thread, as shares of the output's sentences: 0 is best.

    ``dangling`` pronouns begin a sentence whose forerunner in the source was dropped, ``stranded`` connectives
    likewise, ``unexplained`` names were introduced in a sentence that was dropped; ``signs`` is their sum,
    ``connectives`` all sentences that begin with one. Shares of the output's sentences. They are signs, found by rules
    of English, not proof; a copy of the source has none.
    """

    name: ClassVar[str] = "coherence"
    needs: ClassVar[Needs] = frozenset({"source"})
    better: ClassVar[Better] = "lower"
    outputs: ClassVar[tuple[str, ...]] = ("signs", "dangling", "stranded", "unexplained", "connectives")
    main_outputs: ClassVar[tuple[str, ...]] = outputs

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
