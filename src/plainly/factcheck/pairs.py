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
from plainly.factcheck.comparing import check_values
from plainly.factcheck.proper_names import check_names
from plainly.factcheck.reading import (
    HARMS,
    OUTCOMES,
    SURE,
    VALUES,
    FactFinding,
    MatchedPair,
    Outcome,
    Rewording,
    Spans,
    is_one_sided,
    match_pairs,
    measured_precision,
)
from plainly.factcheck.reversals import check_modality, check_opposites, check_polarity, check_roles, check_sides
from plainly.factcheck.roles import check_exchanges, check_swaps
from plainly.factcheck.signals import check_signals, deny_alike
from plainly.factcheck.statements import check_added, check_lost, check_sentences, measure_novelty
from plainly.learned import encoder

Check = Callable[[MatchedPair], Iterator[FactFinding]]
REWORDED: tuple[Check, ...] = (check_signals, check_exchanges, check_swaps, check_sentences)
ENGLISH: tuple[Check, ...] = (
    check_names, check_polarity, check_modality, check_opposites, check_sides, check_roles, check_added
)  # fmt: skip
CHECKS: dict[str, tuple[Check, ...]] = {"en": (*ENGLISH, *REWORDED, check_lost), "de": (*REWORDED, check_lost)}
_WHOLE = 0.8  # the share of the source's content words from which an addition is made to a source that is whole
_DENIED = frozenset(
    f"{name}{manner}"
    for name in ("new negation", "negation lost", "German new negation", "German negation lost")
    for manner in ("", ", close")
) | {f"{strength} polarity flipped" for strength in ("strong", "fair", "weak")}
_STRENGTHS = ((0.8, "strong"), (0.6, "fair"), (0.0, "weak"))
LEAST = 0.2  # the confidence from which a finding counts at all
_CHUNK = 1000
MODEL = encoder.JUDGE
_HEADS = ("fact", "meaning")
# The risk of an English pair as a logistic function of the model's two readings, the share of new words (up to
# _MOST_NEW, since bold rewording has more), the ratio of lengths, because the reading of meaning falls with what is
# left out, and the surest finding. The proportions were chosen; scale and constant were fitted to the half "tuning"
# of bench/letters.jsonl and to ratings of meaning of 209 outputs of 2022 (LENS).
_WEIGHTS = {"fact": 0.526, "meaning": -0.790, "new": 0.744, "ratio": 0.272, "surest": 0.183}
_CONSTANT, _MOST_NEW = -1.682, 0.4
_MAX_DOUBT, _DOUBT_AT_NONE, _DOUBT_BY_SHARE = 0.5, 3.71, 12.6


@dataclass(frozen=True)
class PairCheck:
    """The findings in one pair and the risk that a fact was changed, flipped or added."""

    findings: tuple[FactFinding, ...]
    risk: float
    language: str = "en"
    source_words: int = 1
    output_words: int = 1
    new: float = 0.0  # the share of new words
    surest: float = 0.0  # the confidence of the surest finding that harms

    def combine(self, fact: float, meaning: float) -> "PairCheck":
        """Return the check with the risk that follows from findings and from the model's two readings, 0 to 1."""
        if math.isnan(fact) or not self.output_words or not self.source_words:  # an empty text
            return self
        values = {
            "fact": fact,
            "meaning": meaning,
            "new": min(self.new, _MOST_NEW),
            "ratio": math.log(min(max(self.output_words / self.source_words, 0.1), 5.0)),
            "surest": self.surest,
        }
        risk = 1 / (1 + math.exp(-_CONSTANT - sum(_WEIGHTS[name] * value for name, value in values.items())))
        return replace(self, risk=max(risk, SURE) if self.outcome == "block" else risk)

    @property
    def faithful(self) -> bool:
        """Whether no fact was changed, flipped or added; an output without words is not faithful."""
        return self.output_words > 0 and not any(finding.harms for finding in self.findings)

    @property
    def outcome(self) -> Outcome:
        """The strictest outcome of the findings; an output without words is blocked."""
        outcomes = {finding.outcome for finding in self.findings} or {"pass"}
        return "block" if not self.output_words else min(outcomes, key=OUTCOMES.index)

    def expect(self, effect: str) -> float:
        """Return the expected number of findings with an effect, by their confidence; for losses, their weight."""
        if effect == "lost":
            return min(1.0, sum(finding.weight for finding in self.findings if finding.effect == effect))
        return sum(finding.sure for finding in self.findings if finding.effect == effect)


def _check_pair(pair: MatchedPair, pattern: re.Pattern[str] | None) -> PairCheck:
    sizes = pair.source.word_count, pair.output.word_count
    if sizes[0] and not sizes[1]:
        whole_source = pair.finding("lost", "claim", 1.0, range(len(pair.source)), [])
        return PairCheck((whole_source,), 1.0, pair.language, *sizes)
    findings = _drop_repeats([finding for finding in find_all(pair) if finding.sure >= LEAST])
    if pattern is not None:
        texts = ([finding.source_words, finding.output_words] for finding in findings)
        is_ignored = [any(words and pattern.fullmatch(words.strip()) for words in both) for both in texts]
        findings = [finding for finding, ignored in zip(findings, is_ignored, strict=True) if not ignored]
    # By rules alone: the surest finding, or new words. A long text does not make its findings surer.
    new = measure_novelty(pair) if pair.language == "en" else 0.0
    surest = max((finding.sure for finding in findings if finding.effect in HARMS), default=0.0)
    risk = 1 - (1 - surest) * (1 - estimate_doubt(new)) if pair.language == "en" else surest
    return PairCheck(tuple(findings), risk, pair.language, *sizes, new=new, surest=surest)


def find_all(pair: MatchedPair) -> Iterator[FactFinding]:
    """Yield what every check finds, with the precision that was measured for its situation as its confidence."""
    for finding in check_values(pair):
        yield replace(finding, is_doubtful=True) if _is_doubtful(pair, finding) else finding
    for check in CHECKS.get(pair.language, (check_names,)):
        for finding in check(pair):
            if check in ENGLISH and finding.effect in HARMS:
                if finding.sure < LEAST:
                    continue
                strength = next(name for least, name in _STRENGTHS if finding.sure >= least)
                beside = " to a whole" if finding.effect == "added" and pair.kept_share >= _WHOLE else ""
                situation = f"{strength} {finding.kind} {finding.effect}{beside}"
                finding = replace(finding, situation=situation)
                finding = replace(finding, sure=measured_precision(situation, judge_rewording(pair, finding)))
            is_denied_alike = finding.kind == "polarity" and finding.situation in _DENIED and deny_alike(pair)
            if not is_denied_alike:
                yield replace(finding, is_doubtful=True) if _is_doubtful(pair, finding) else finding


def _is_asked(pair: MatchedPair, finding: FactFinding) -> bool:
    """Return whether a negation is new in a question, which states nothing: "Not sure?"."""
    if finding.source or not finding.output:
        return False
    end = re.search(r"[.!?\n]", pair.output.text[finding.output[-1][1] :])
    return end is not None and end[0] == "?"


def _is_doubtful(pair: MatchedPair, finding: FactFinding) -> bool:
    """Return whether a finding rests on a name, or on words that are new or gone, in a text that is worded anew.

    Such findings were as frequent in sound letters as in wrong ones (bench/letters-2.jsonl, bench/values.jsonl, parts
    for tuning). Where the wording is kept, nearly all are right.
    """
    if finding.kind == "polarity" and _is_asked(pair, finding):
        return True
    if finding.kind in VALUES:
        return False
    if finding.kind == "polarity":  # A negation that is gone means more than one that is new, but not in a letter.
        is_weak = pair.rewording == "long" or "new negation" in finding.situation
    else:
        is_weak = finding.kind in ("name", "claim") or (
            finding.kind in ("modality", "condition") and is_one_sided(finding.situation)
        )
    return is_weak and not pair.keeps_wording(finding.output if finding.effect == "added" else ())


def judge_rewording(pair: MatchedPair, finding: FactFinding) -> Rewording:
    """Return how a pair is worded, by which the precision of a finding was measured."""
    is_clear_addition = finding.kind == "claim" and finding.situation.startswith(("strong", "fair"))
    return pair.rewording_without(finding.output) if is_clear_addition else pair.rewording


def estimate_doubt(new_words: float) -> float:
    """Estimate the risk in new words alone from their share, at most one half, where no rule finds anything.

    Fitted to OneStopEnglish pairs as they are and with wrong words or a phrase of another sentence inserted, and to the
    sentences and their opposites in CANNOT, assuming that one in ten is wrong.
    """
    return _MAX_DOUBT / (1 + math.exp(_DOUBT_AT_NONE - _DOUBT_BY_SHARE * new_words))


def _keep_surest(findings: Sequence[FactFinding]) -> list[FactFinding]:
    """Leave out statements that a surer finding about the same words of the source or the output explains."""
    surest: list[FactFinding] = []
    for finding in sorted(dict.fromkeys(findings), key=lambda finding: -finding.sure):
        is_repeated = finding.effect == "flipped" and any(
            other.effect == "flipped"
            and (_overlap(finding.source, other.source) or _overlap(finding.output, other.output))
            for other in surest
        )
        if not is_repeated:
            surest.append(finding)
    return surest


def _overlap(spans: Spans, others: Spans) -> bool:
    return any(start < b and a < end for start, end in spans for a, b in others)


def _drop_repeats(findings: Sequence[FactFinding]) -> list[FactFinding]:
    """Sort findings by output position; halve a claim's confidence for each new name or number that explains it."""
    precise = [span for finding in findings if finding.harms and finding.kind != "claim" for span in finding.output]
    remaining = []
    for finding in _keep_surest(findings):
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
    language: str = ""

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
            matches = match_pairs(
                [source for source, _ in new], [output for _, output in new], self.parser, self.language
            )
            results |= {pair: _check_pair(match, pattern) for pair, match in zip(new, matches, strict=True)}
        checks = [results[pair] for pair in pairs]
        if self.model is None:
            return checks
        judge = encoder.load(self.model)
        if lacking := [head for head in _HEADS if head not in judge.heads]:
            raise BadInput(
                f"{self.model} has no head {lacking[0]!r}. Leave out model=, or pass model=none to use rules alone."
            )
        # The model reads English only. It locates no words, so it makes no findings.
        english = [at for at, check in enumerate(checks) if check.language == "en"]
        values = judge.readings([pairs[at] for at in english]).values[:, [judge.heads.index(head) for head in _HEADS]]
        for at, (fact, meaning) in zip(english, values.tolist(), strict=True):
            checks[at] = checks[at].combine(fact, meaning)
        return checks

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
