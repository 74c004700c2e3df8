"""Document metrics: what happened to the sentences of the source, and signs that the output is not coherent.

Signs, not proof: a pronoun at the beginning of a sentence whose predecessor in the source was dropped usually refers to
nothing, nor does a connective there, and a name whose introduction was dropped appears without explanation.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.files import read_shipped
from plainly.core.metric import Better, Floats, Metric, Needs, ratio
from plainly.text.languages import CODES
from plainly.text.sentence_alignment import OUTCOMES, Alignment, align_many
from plainly.text.words import words

_BLOCK = 64  # documents whose alignments are held at once
_OF_SOURCE = (*(name for name in OUTCOMES if name != "added"), "moved")
_LISTS = read_shipped(__file__, "coherence.toml")
_PRONOUNS, _CONNECTIVES, _NOT_NAMES = (
    frozenset(_LISTS[name].split()) for name in ("pronouns", "connectives", "not_names")
)
_NAME = re.compile(r"[A-Z][\w’'-]*[a-z][\w’'-]*(?: (?:of |de |van |the )?[A-Z][\w’'-]*)*")


@dataclass(frozen=True, repr=False)
class Coverage(Metric):
    """The share of the source's sentences that the output covers, and what happened to the sentences.

    All but the last two are shares: ``covered`` of the source's sentences have a counterpart in the output; of them
    some were ``kept`` word for word, ``rephrased``, ``split``, ``merged`` with others or ``reorganised`` (several into
    several); the others were ``dropped``; ``moved`` ones stand in another order. ``added`` is the share of the output's
    sentences without a counterpart in the source. ``sentences`` and ``source_sentences`` are averages per text. A
    document may be better because half of its source was dropped: this describes and does not judge. ``meaning=true``
    aligns sentences by meaning as well as by words. Sentences end as in the ``language`` of the texts.
    """

    meaning: bool = False
    language: str = "en"

    name: ClassVar[str] = "coverage"
    needs: ClassVar[Needs] = frozenset({"source"})
    better: ClassVar[Better] = "neither"
    outputs: ClassVar[tuple[str, ...]] = ("covered", *_OF_SOURCE, "added", "sentences", "source_sentences")
    main_outputs: ClassVar[tuple[str, ...]] = ("covered", *_OF_SOURCE, "added")
    choices: ClassVar[Mapping[str, Collection[str]]] = {"language": CODES}

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        alignments = _align(evalset, outputs, meaning=self.meaning, language=self.language)
        rows = [_count_outcomes(alignment) for alignment in alignments]
        return np.array(rows, dtype=np.float64).reshape(len(outputs), len(_OF_SOURCE) + 4)

    def score(self, totals: Floats) -> Floats:
        *_, added, source, output, texts = np.moveaxis(totals, -1, 0)
        of_source = ratio(totals[..., : len(_OF_SOURCE)], source[..., None])
        covered = 1 - of_source[..., _OF_SOURCE.index("dropped")]
        rest = (ratio(added, output), ratio(output, texts), ratio(source, texts))
        scores: Floats = np.concatenate([covered[..., None], of_source, np.stack(rest, axis=-1)], axis=-1)
        return scores


def _count_outcomes(alignment: Alignment) -> Sequence[int]:
    counts = alignment.counts()
    sizes = len(alignment.source), len(alignment.output)
    return *(counts[name] for name in _OF_SOURCE), counts["added"], *sizes, any(sizes)


def _align(
    evalset: EvalSet, outputs: Sequence[str], *, meaning: bool = False, language: str = "en"
) -> Iterator[Alignment]:
    """Align each document with its source, a block of documents at a time."""
    for start in range(0, len(outputs), _BLOCK):
        texts = evalset.sources[start : start + _BLOCK], outputs[start : start + _BLOCK]
        yield from align_many(*texts, encoder=meaning, language=language)


@dataclass(frozen=True, repr=False)
class Coherence(Metric):
    """Signs of incoherence, as shares of the output's sentences: 0 is best.

    ``dangling`` pronouns begin a sentence whose predecessor in the source was dropped, ``stranded`` connectives
    likewise, ``unexplained`` names were introduced in a sentence that was dropped; ``signs`` is their sum,
    ``connectives`` are all sentences that begin with one. They are signs, found by rules for English, not proof; a copy
    of the source has none.
    """

    name: ClassVar[str] = "coherence"
    needs: ClassVar[Needs] = frozenset({"source"})
    better: ClassVar[Better] = "lower"
    outputs: ClassVar[tuple[str, ...]] = ("signs", "dangling", "stranded", "unexplained", "connectives")
    main_outputs: ClassVar[tuple[str, ...]] = outputs

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rows = [signs(alignment) for alignment in _align(evalset, outputs)]
        return np.array(rows, dtype=np.float64).reshape(len(outputs), 5)

    def score(self, totals: Floats) -> Floats:
        shares = ratio(totals[..., :4], totals[..., 4:])
        return np.concatenate([shares[..., :3].sum(axis=-1, keepdims=True), shares], axis=-1)


def signs(alignment: Alignment) -> tuple[int, int, int, int, int]:
    """Count dangling pronouns, stranded connectives, unexplained names, all connectives, and output sentences."""
    sources_of = {j: link.source for link in alignment.links for j in link.output}
    dropped = {i for link in alignment.links if not link.output for i in link.source}
    dangling = stranded = connectives = 0
    for j, sentence in enumerate(alignment.output):
        first = _first_word(sentence.text)
        origin = min(sources_of.get(j, ()), default=None)
        # Whether its predecessor in the source is missing; the beginning of a text has none.
        lost = (j == 0 and origin not in (None, 0)) or (origin is not None and origin - 1 in dropped)
        begins = origin is not None and _first_word(alignment.source[origin].text) == first
        dangling += first in _PRONOUNS and ((lost and begins) or (j == 0 and origin not in (None, 0)))
        connectives += first in _CONNECTIVES
        stranded += first in _CONNECTIVES and (j == 0 or (lost and begins))
    return dangling, stranded, _count_unexplained(alignment, dropped), connectives, len(alignment.output)


def _first_word(sentence: str) -> str:
    return next(iter(words(sentence)), "").casefold()


def _count_unexplained(alignment: Alignment, dropped: set[int]) -> int:
    """Count the names in the output that the source introduced in a sentence that was dropped."""
    introductions: dict[str, int] = {}
    for i, sentence in enumerate(alignment.source):
        for name in _names(sentence.text):
            introductions.setdefault(name, i)
    names = {name for sentence in alignment.output for name in _names(sentence.text)}
    return sum(introductions.get(name, -1) in dropped for name in names)


def _names(sentence: str) -> set[str]:
    return {
        name
        for name in _NAME.findall(sentence)
        if name.casefold() not in _NOT_NAMES and not (sentence.startswith(name) and " " not in name)
    }
