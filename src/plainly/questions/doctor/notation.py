"""Checks of how texts are written: tokenisation, brackets, entities, case, encoding."""

from __future__ import annotations

import re
from collections.abc import Iterator

from plainly.questions.doctor.subject import Collection, Subject, check, warning
from plainly.render.numbers import listed
from plainly.result import Note

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


@check(
    "double-tokenisation",
    """The texts are tokenised already (a space before every comma and full stop, as Moses writes them) and most metrics
    tokenise again, or they have been tokenised twice (& quot ;). Numbers then differ from those of others who score
    plain text, and words such as "do n't" are not those of a detokenised system. Detokenise outputs and references
    alike, or use tokenize=none and say so.""",
)
def double_tokenisation(subject: Subject) -> Iterator[Note]:
    for texts in subject.collections():
        twice = texts.matching(_TWICE) if any(mark in texts.joined for mark in _TWICE_MARKS) else []
        if twice:
            message = f"tokenised twice, {texts.items(twice)}: {_excerpt(texts, twice[0], _TWICE)}."
            yield texts.warning("double-tokenisation", message, twice)
    tokenised = [texts.name for texts in subject.collections() if (texts.tokenised or 0) > _TOKENISED]
    if tokenised and any(map(_tokenises, subject.specs or ("bleu",))):
        yield warning(
            "double-tokenisation",
            f"Already tokenised: {listed(tokenised)}. Metrics that tokenise do so again.",
            where=tokenised[0],
        )


@check(
    "tokenisation-mismatch",
    """Some texts are tokenised (a space before commas and full stops) and others are not. N-grams at punctuation and
    contractions then never match, which lowers scores for no reason in the text. Bring outputs, sources and references
    into one form; detokenised is best.""",
)
def tokenisation_mismatch(subject: Subject) -> Iterator[Note]:
    known = [texts for texts in subject.collections() if texts.tokenised is not None]
    apart = [texts.name for texts in known if (texts.tokenised or 0) > _TOKENISED]
    plain = [texts.name for texts in known if (texts.tokenised or 0) < _PLAIN]
    if apart and plain:
        yield warning(
            "tokenisation-mismatch",
            f"Tokenised: {listed(apart)}. Not tokenised: {listed(plain)}. They cannot match at punctuation.",
            where=apart[0],
        )


@check(
    "case-mismatch",
    """Some texts are all in lower case and others have capitals. A metric that minds case (BLEU by default) counts
    every first word and name as wrong; SARI lowercases by default and is not affected. Use lowercase=true, or truecase
    the lower-case side.""",
)
def case_mismatch(subject: Subject) -> Iterator[Note]:
    known = [texts for texts in subject.collections() if texts.capitals is not None]
    lower = [texts.name for texts in known if (texts.capitals or 0) < 0.05]
    cased = [texts.name for texts in known if (texts.capitals or 0) > 0.5]
    if lower and cased:
        yield warning(
            "case-mismatch", f"All lower case: {listed(lower)}. With capitals: {listed(cased)}.", where=lower[0]
        )


@check(
    "brackets",
    """Brackets are written as in treebanks, -LRB- and -RRB-. Where others write ( and ), every bracket is a mismatch of
    four n-grams; in the legacy TurkCorpus files this alone lowers the BLEU of unchanged sources by some three points.
    Replace them: sed 's/-LRB-/(/g; s/-RRB-/)/g' (mind the case).""",
)
def brackets(subject: Subject) -> Iterator[Note]:
    yield from _pattern(subject, "brackets", _BRACKETS, "brackets written as")


@check(
    "escaped-entities",
    """Characters are written as entities, such as &quot; and &apos;, which Moses' tokeniser makes when it is not told
    -no-escape. They are words of their own for most metrics. Unescape them: python -c "import html,sys;
    sys.stdout.writelines(map(html.unescape, sys.stdin))".""",
)
def escaped_entities(subject: Subject) -> Iterator[Note]:
    yield from _pattern(subject, "escaped-entities", _ENTITIES, "characters written as entities,")


@check(
    "encoding",
    """Text was written in one encoding and read in another (cafÃ© for café), or characters were lost on the way (the
    replacement character U+FFFD). Words that hold them match nothing. Convert the file again from its original, as
    UTF-8.""",
)
def encoding(subject: Subject) -> Iterator[Note]:
    yield from _pattern(subject, "encoding", _MOJIBAKE, "damaged characters,")


def _pattern(subject: Subject, code: str, pattern: re.Pattern[str], what: str) -> Iterator[Note]:
    for texts in subject.collections():
        places = texts.matching(pattern)
        if places:
            excerpt = _excerpt(texts, places[0], pattern)
            yield texts.warning(code, f"{what} {excerpt}, in {texts.items(places)}.", places)


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
