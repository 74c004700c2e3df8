"""Checks of pairs of texts: the findings of all rules, the risk that follows from them, and the metric ``facts``."""

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from plainly.core.errors import BadInput, BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Metric, Needs, ratio
from plainly.factcheck.proper_names import check_names
from plainly.factcheck.quantities import check_amounts
from plainly.factcheck.reading import HARMS, FactFinding, MatchedPair, match_pairs
from plainly.factcheck.reversals import check_modality, check_opposites, check_polarity, check_roles, check_sides
from plainly.factcheck.statements import check_added, check_lost, measure_novelty
from plainly.learned import encoder

Check = Callable[[MatchedPair], Iterator[FactFinding]]
LANGUAGE_FREE: tuple[Check, ...] = (check_amounts, check_names)
ENGLISH: tuple[Check, ...] = (
    *LANGUAGE_FREE, check_polarity, check_modality, check_opposites, check_sides, check_roles, check_added, check_lost
)  # fmt: skip
LEAST = 0.2  # the confidence from which a finding counts at all
_CHUNK = 1000
MODEL = encoder.JUDGE
_HEAD = "fact"
_NEUTRAL = 0.15  # the model's probability for most references of ASSET's validation set; counts as no risk
_MODEL_WEIGHT = 0.5  # the share of the model's probability that counts
_MAX_DOUBT, _DOUBT_AT_NONE, _DOUBT_BY_SHARE = 0.5, 3.71, 12.6


@dataclass(frozen=True)
class PairCheck:
    """The findings in one pair and the risk that a fact was changed, flipped or added."""

    findings: tuple[FactFinding, ...]
    risk: float
    english: bool = True
    source_words: int = 1
    output_words: int = 1

    @property
    def faithful(self) -> bool:
        """Whether no fact was changed, flipped or added; an output without words is not faithful."""
        return self.output_words > 0 and not any(finding.harms for finding in self.findings)

    def expect(self, effect: str) -> float:
        """Return the expected number of findings with an effect, by their confidence; for losses, their weight."""
        if effect == "lost":
            return min(1.0, sum(finding.weight for finding in self.findings if finding.effect == effect))
        return sum(finding.sure for finding in self.findings if finding.effect == effect)


def _check_pair(pair: MatchedPair, pattern: re.Pattern[str] | None) -> PairCheck:
    sizes = pair.source.word_count, pair.output.word_count
    if sizes[0] and not sizes[1]:
        whole_source = pair.finding("lost", "claim", 1.0, range(len(pair.source)), [])
        return PairCheck((whole_source,), 1.0, pair.english, *sizes)
    checks = ENGLISH if pair.english else LANGUAGE_FREE
    findings = _drop_repeats([finding for check in checks for finding in check(pair) if finding.sure >= LEAST])
    if pattern is not None:
        texts = ([finding.source_words, finding.output_words] for finding in findings)
        is_ignored = [any(words and pattern.fullmatch(words.strip()) for words in both) for both in texts]
        findings = [finding for finding, ignored in zip(findings, is_ignored, strict=True) if not ignored]
    doubt = estimate_doubt(measure_novelty(pair)) if pair.english else 0.0
    # The risk by rules alone: that at least one of their findings is right.
    risk = 1 - math.prod(1 - finding.sure for finding in findings if finding.effect in HARMS)
    return PairCheck(tuple(findings), 1 - (1 - risk) * (1 - doubt), pair.english, *sizes)


def estimate_doubt(new_words: float) -> float:
    """Estimate the risk in new words alone from their share, at most one half, where no rule finds anything.

    Fitted to OneStopEnglish pairs as they are and with wrong words or a phrase of another sentence inserted, and to the
    sentences and their opposites in CANNOT, assuming that one in ten is wrong.
    """
    return _MAX_DOUBT / (1 + math.exp(_DOUBT_AT_NONE - _DOUBT_BY_SHARE * new_words))


def _drop_repeats(findings: Sequence[FactFinding]) -> list[FactFinding]:
    """Sort findings by output position; halve a claim's confidence for each new name or number that explains it."""
    precise = [span for finding in findings if finding.harms and finding.kind != "claim" for span in finding.output]
    remaining = []
    for finding in dict.fromkeys(findings):
        if finding.kind == "claim" and finding.effect == "added":
            inside = sum(1 for start, end in precise for a, b in finding.output if a <= start and end <= b)
            finding = replace(finding, sure=finding.sure * 0.5**inside)
        if finding.sure >= LEAST:
            remaining.append(finding)
    return sorted(remaining, key=lambda finding: (finding.output or ((1 << 30, 0),), finding.source))


@lru_cache(maxsize=64)
def compile_ignored(pattern: str) -> re.Pattern[str] | None:
    """Compile the words or patterns to ignore, separated by |."""
    if not pattern:
        return None
    try:
        return re.compile(rf"(?:{pattern})", re.IGNORECASE)
    except re.error as error:
        raise BadSpec(f"ignore={pattern!r} is not a regular expression: {error}. Separate words with |.") from None


@dataclass(frozen=True, repr=False)
class Facts(Metric):
    """The percentage of outputs in which no fact was changed, reversed or added.

    ``faithful`` is the percentage of outputs without a probable finding of harm. ``risk`` is the average risk (0 to 1)
    that a fact was changed, flipped or added. ``changed``, ``flipped`` and ``added`` are the expected numbers of such
    findings in 100 outputs, each counted by its confidence; ``lost`` is the percentage of the sources' content that
    the outputs leave out, with more weight on names and numbers. An output without words is not faithful. ``ignore`` is
    a pattern of words to leave out (``ignore=NATO|EU``); ``parser=spacy`` or the name of a spaCy pipeline decides which
    words are names; ``model=none`` uses rules alone, without the model that reads source and output together. English;
    in other languages only numbers, dates and names.
    """

    ignore: str = ""
    parser: str = ""
    model: str | None = MODEL

    name: ClassVar[str] = "facts"
    needs: ClassVar[Needs] = frozenset({"source"})
    outputs: ClassVar[tuple[str, ...]] = ("faithful", "risk", "changed", "flipped", "added", "lost")
    main_outputs: ClassVar[tuple[str, ...]] = outputs
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    learned: ClassVar[bool] = True
    batch_tolerance: ClassVar[float] = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        compile_ignored(self.ignore)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        return count_rows(self.check(evalset.sources, outputs))

    def check(self, sources: Sequence[str], outputs: Sequence[str]) -> list[PairCheck]:
        """Check every pair, in order."""
        pattern = compile_ignored(self.ignore)
        pairs = list(zip(sources, outputs, strict=True))
        results: dict[tuple[str, str], PairCheck] = {}
        for start in range(0, len(pairs), _CHUNK):
            new = [pair for pair in dict.fromkeys(pairs[start : start + _CHUNK]) if pair not in results]
            matches = match_pairs([source for source, _ in new], [output for _, output in new], self.parser)
            results |= {pair: _check_pair(match, pattern) for pair, match in zip(new, matches, strict=True)}
        checks = [results[pair] for pair in pairs]
        if self.model is None:
            return checks
        # The model's probability that a fact differs adds to the risk, in English only. It locates no words, so it
        # makes no findings. One in six ASSET references gets one half or more, and most of these are right, so only a
        # part counts.
        judge = encoder.load(self.model)
        if _HEAD not in judge.heads:
            raise BadInput(
                f"{self.model} has no head {_HEAD!r}. Leave out model=, or pass model=none to use rules alone."
            )
        values = judge.readings(pairs).values[:, judge.heads.index(_HEAD)]
        # NaN is a pair with an empty text.
        risks = np.clip((np.nan_to_num(values, nan=0.0) - _NEUTRAL) / (1 - _NEUTRAL), 0.0, 1.0)
        return [
            replace(pair, risk=1 - (1 - pair.risk) * (1 - _MODEL_WEIGHT * float(risk))) if pair.english else pair
            for pair, risk in zip(checks, risks, strict=True)
        ]

    def score(self, totals: Floats) -> Floats:
        shares = ratio(totals[..., :6], totals[..., 6:])
        values: Floats = shares * np.array([100.0, 1.0, 100.0, 100.0, 100.0, 100.0])
        return values


def count_rows(checks: Collection[PairCheck]) -> Floats:
    """Return a row per pair: faithful, risk, changed, flipped, added, lost, and whether the source has words."""
    table = np.zeros((len(checks), 7))
    for at, pair in enumerate(checks):
        if pair.source_words:
            amounts = [pair.expect(effect) for effect in ("changed", "flipped", "added", "lost")]
            table[at] = (pair.faithful, pair.risk, *amounts, 1.0)
    return table
