"""Check pairs of texts: every rule on every pair, what is to be ignored left out, and the risk that all of it makes."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from plainly.core.errors import BadInput, BadSpec
from plainly.factcheck.finding import HARMS, FactFinding
from plainly.factcheck.polarity import check_modality, check_polarity
from plainly.factcheck.proper_names import check_names
from plainly.factcheck.quantities import check_amounts
from plainly.factcheck.reading import Matched, matched
from plainly.factcheck.reversals import check_turned
from plainly.factcheck.statements import check_claims, novelty
from plainly.learned import encoder

Check = Callable[[Matched], Iterator[FactFinding]]
LANGUAGE_FREE: tuple[Check, ...] = (check_amounts, check_names)
ENGLISH: tuple[Check, ...] = (*LANGUAGE_FREE, check_polarity, check_modality, check_turned, check_claims)
LEAST = 0.2  # how sure a finding must be to count at all
_CHUNK = 1000
MODEL = encoder.JUDGE
_HEAD = "fact"
_SOUND = 0.15  # what the model says of most of what people wrote for ASSET's validation part: counts as nothing
_BELIEVED = 0.5  # how much of what the model says is taken for the truth
_MOST_DOUBT, _DOUBT_AT_NONE, _DOUBT_BY_SHARE = 0.5, 3.71, 12.6


@dataclass(frozen=True)
class CheckSettings:
    """What is left out (a pattern: words with | between them), which spaCy pipeline tells names, which model judges.

    Without a model there are rules alone.
    """

    ignore: str = ""
    parser: str = ""
    model: str | None = None

    def check(self) -> None:
        """Raise unless the pattern is one."""
        ignoring(self.ignore)


PLAIN = CheckSettings()


@dataclass(frozen=True)
class Checked:
    """What was found in one pair, and the risk that a fact was changed, flipped or added."""

    findings: tuple[FactFinding, ...]
    risk: float
    doubt: float = 0.0  # the risk that no finding names: how likely new words are to say something else
    english: bool = True
    source_words: int = 1
    output_words: int = 1

    @property
    def faithful(self) -> bool:
        """Whether no fact was changed, flipped or added; who says nothing is not faithful."""
        return self.output_words > 0 and not any(finding.harms for finding in self.findings)

    def expected(self, effect: str) -> float:
        """How many findings of an effect are to be expected, by how sure each is; of what was lost, its weight."""
        if effect == "lost":
            return min(1.0, sum(finding.weight for finding in self.findings if finding.effect == effect))
        named = sum(finding.sure for finding in self.findings if finding.effect == effect)
        return named + self.doubt if effect == "added" else named


def check_pairs(sources: Sequence[str], outputs: Sequence[str], settings: CheckSettings = PLAIN) -> list[Checked]:
    """Every pair, in order."""
    ignored = ignoring(settings.ignore)
    pairs = list(zip(sources, outputs, strict=True))
    results: dict[tuple[str, str], Checked] = {}
    for start in range(0, len(pairs), _CHUNK):
        new = [pair for pair in dict.fromkeys(pairs[start : start + _CHUNK]) if pair not in results]
        for number, pair in matched([source for source, _ in new], [output for _, output in new], settings.parser):
            results[new[number]] = _checked(pair, ignored)
    checked = [results[pair] for pair in pairs]
    return _judged(checked, sources, outputs, settings.model) if settings.model is not None else checked


def _judged(checked: Sequence[Checked], sources: Sequence[str], outputs: Sequence[str], model: str) -> list[Checked]:
    """The same with the model's probability that a fact is not the source's added to the risk; English only.

    The model names no words, so it makes no findings. Of ASSET's references it gives one half or more to every sixth,
    most of which are right; hence only a part of its probability counts.
    """
    judge = encoder.load(model)
    if _HEAD not in judge.heads:
        raise BadInput(f"{model} has no head {_HEAD!r}. Leave model= out, or write model=none for rules alone.")
    values = judge.readings(list(zip(sources, outputs, strict=True))).values[:, judge.heads.index(_HEAD)]
    # NaN is a pair with a text that has no word.
    risks = np.clip((np.nan_to_num(values, nan=0.0) - _SOUND) / (1 - _SOUND), 0.0, 1.0)
    return [
        replace(pair, risk=1 - (1 - pair.risk) * (1 - _BELIEVED * float(risk))) if pair.english else pair
        for pair, risk in zip(checked, risks, strict=True)
    ]


def _checked(pair: Matched, ignored: re.Pattern[str] | None) -> Checked:
    sizes = pair.source.size, pair.output.size
    if sizes[0] and not sizes[1]:
        everything = pair.finding("lost", "claim", 1.0, range(len(pair.source)), [])
        return Checked((everything,), 1.0, 0.0, pair.english, *sizes)
    checks = ENGLISH if pair.english else LANGUAGE_FREE
    findings = _once([finding for check in checks for finding in check(pair) if finding.sure >= LEAST])
    if ignored is not None:
        findings = [finding for finding in findings if not _ignored(finding, ignored)]
    doubt = doubtful(novelty(pair)) if pair.english else 0.0
    return Checked(tuple(findings), 1 - (1 - combined(findings)) * (1 - doubt), doubt, pair.english, *sizes)


def doubtful(new_words: float) -> float:
    """The risk that lies in new words alone, by their share: fitted where no rule finds anything, never over a half.

    Fitted to OneStopEnglish's pairs as they are and with wrong words or another sentence's phrase put in, and to the
    sentences and their opposites in CANNOT, as if one in ten were wrong.
    """
    return _MOST_DOUBT / (1 + math.exp(_DOUBT_AT_NONE - _DOUBT_BY_SHARE * new_words))


def combined(findings: Sequence[FactFinding]) -> float:
    """The risk by the rules alone: that at least one of their findings is right."""
    safe = 1.0
    for finding in findings:
        if finding.effect in HARMS:
            safe *= 1 - finding.sure
    return 1 - safe


def _once(findings: Sequence[FactFinding]) -> list[FactFinding]:
    """In the order of the output; a claim that is added only because of a new name or number counts once."""
    sharp = [span for finding in findings if finding.harms and finding.kind != "claim" for span in finding.output]
    kept = []
    for finding in dict.fromkeys(findings):
        if finding.kind == "claim" and finding.effect == "added":
            inside = sum(1 for start, end in sharp for a, b in finding.output if a <= start and end <= b)
            finding = replace(finding, sure=finding.sure * 0.5**inside)
            if finding.sure < LEAST:
                continue
        kept.append(finding)
    return sorted(kept, key=lambda finding: (finding.output or ((1 << 30, 0),), finding.source))


@lru_cache(maxsize=64)
def ignoring(pattern: str) -> re.Pattern[str] | None:
    """The words or patterns that are to be ignored, with | between them."""
    if not pattern:
        return None
    try:
        return re.compile(rf"(?:{pattern})", re.IGNORECASE)
    except re.error as error:
        raise BadSpec(f"ignore={pattern!r} is not a pattern: {error}. Write words with | between them.") from None


def _ignored(finding: FactFinding, pattern: re.Pattern[str]) -> bool:
    return any(words and pattern.fullmatch(words.strip()) for words in (finding.source_words, finding.output_words))
