"""Checks of how texts are written: tokenisation, brackets, entities, case, encoding."""

import re
from collections.abc import Iterator
from functools import partial

from plainly.core.formatting import listed
from plainly.core.result import Note
from plainly.io.faults.subject import Collection, Subject, check, warning

_TWICE = re.compile(
    r"&amp;(?:quot|apos|amp|lt|gt|#9[13]|#124);|& (?:quot|apos|amp|lt|gt) ;|- [lr][rsc]b -|@ - @"
    r"|\b(?:do|does|did|is|was|were|are|ca|could|would|wo|has|had|have) n ' t\b",
    re.IGNORECASE,
)
_TWICE_MARKS = ("&amp;", "& ", "- l", "- r", "- L", "- R", "@ - @", " n ' t")
_TOKENISED, _PLAIN = 0.8, 0.2
_BRACKETS = re.compile(r"-[lr][rsc]b-", re.IGNORECASE)
_ENTITIES = re.compile(r"&(?:quot|apos|amp|lt|gt|nbsp|#\d{2,4});", re.IGNORECASE)
# UTF-8 read as Latin-1 or Windows-1252: a lead byte as Ã, Â, â€ … and then a continuation byte; or the mark of loss.
_MOJIBAKE = re.compile(
    "[ÃÂ][\u0080-\u00bf‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€[\u0080-\u00bf‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|[ÐÑ][\u0080-\u00bf][ÐÑ]|ï»¿|\ufffd"
)


@check("double-tokenisation")
def double_tokenisation(subject: Subject) -> Iterator[Note]:
    for texts in subject.collections():
        twice = texts.matching(_TWICE) if any(mark in texts.joined for mark in _TWICE_MARKS) else []
        if twice:
            message = f"tokenised twice, {texts.items(twice)}: {_excerpt(texts, twice[0], _TWICE)}."
            yield texts.warning(message, twice)
    tokenised = [texts.name for texts in subject.collections() if (texts.tokenised or 0) > _TOKENISED]
    if tokenised and any(map(_tokenises, subject.specs or ("bleu",))):
        message = f"Already tokenised: {listed(tokenised)}. Metrics that tokenise do so again."
        yield warning(message, where=tokenised[0])


@check("tokenisation-mismatch")
def tokenisation_mismatch(subject: Subject) -> Iterator[Note]:
    known = [texts for texts in subject.collections() if texts.tokenised is not None]
    apart = [texts.name for texts in known if (texts.tokenised or 0) > _TOKENISED]
    plain = [texts.name for texts in known if (texts.tokenised or 0) < _PLAIN]
    if apart and plain:
        message = f"Tokenised: {listed(apart)}. Not tokenised: {listed(plain)}. They cannot match at punctuation."
        yield warning(message, where=apart[0])


@check("case-mismatch")
def case_mismatch(subject: Subject) -> Iterator[Note]:
    known = [texts for texts in subject.collections() if texts.capitals is not None]
    lower = [texts.name for texts in known if (texts.capitals or 0) < 0.05]
    cased = [texts.name for texts in known if (texts.capitals or 0) > 0.5]
    if lower and cased:
        yield warning(f"All lower case: {listed(lower)}. With capitals: {listed(cased)}.", where=lower[0])


def _pattern(subject: Subject, pattern: re.Pattern[str], what: str) -> Iterator[Note]:
    for texts in subject.collections():
        places = texts.matching(pattern)
        if places:
            excerpt = _excerpt(texts, places[0], pattern)
            yield texts.warning(f"{what} {excerpt}, in {texts.items(places)}.", places)


for _code, _what, _regex in (
    ("brackets", "brackets written as", _BRACKETS),
    ("escaped-entities", "characters written as entities,", _ENTITIES),
    ("encoding", "damaged characters,", _MOJIBAKE),
):
    check(_code)(partial(_pattern, pattern=_regex, what=_what))


def _excerpt(texts: Collection, place: int, pattern: re.Pattern[str]) -> str:
    line = texts.lines[place]
    match = pattern.search(line)
    if match is None:
        return ""
    start, stop = max(match.start() - 8, 0), min(match.end() + 8, len(line))
    return f"“{'…' if start else ''}{line[start:stop].strip()}{'…' if stop < len(line) else ''}”"


def _tokenises(spec: str) -> bool:
    name = spec.partition("(")[0]
    return name in ("sari", "bleu", "ibleu", "tbleu", "fkbleu") and "tokenize=none" not in spec
