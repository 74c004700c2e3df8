"""Do the parts fit together? Asked before anything is computed; the answer names the likeliest reason when not."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations

from plainly.core.errors import BadInput
from plainly.io.tables import table_format

# Characters at which str.splitlines and other tools end a line, though writers of text files do not mean them so; the
# line feed is among them for cells of tables.
SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r\n"
_NAMES = {"\x85": "NEXT LINE", "\x0b": "VERTICAL TAB", "\x0c": "FORM FEED", "\r": "CARRIAGE RETURN", "\n": "LINE FEED"}


# So many lines may be missing for the place to be looked for, in files of so many lines; a match must share a tenth of
# its words and be a tenth better than none.
_SLIPS, _SLIP_LINES = 5, 50_000
_ALIKE, _SURER = 0.1, 1.1


@dataclass(frozen=True)
class Side:
    """One of two things that must be equally long: its name, its lines and what one of them is called."""

    name: str
    lines: Sequence[str] | int  # only their number where there is no text to show
    unit: str = "line"

    def __len__(self) -> int:
        return self.lines if isinstance(self.lines, int) else len(self.lines)

    @property
    def text(self) -> Sequence[str]:
        return () if isinstance(self.lines, int) else self.lines


def check_length(
    name: str, lines: Sequence[str] | int, *, against: str, expected: Sequence[str] | int, unit: str = "line"
) -> None:
    """Raise unless ``lines`` has as many items as ``expected``, saying where the shorter stops and the likely reason.

    Either may be only a number where the text is not at hand. ``unit`` is "row" if ``name`` is a table.
    """
    mine, other = Side(name, lines, unit), Side(against, expected, "row" if table_format(against) else "line")
    if len(mine) == len(other):
        return
    short, long = (mine, other) if len(mine) < len(other) else (other, mine)
    following = long.text[len(short) : len(short) + 1]
    quoted = f": {_excerpt(following[0])}" if following and following[0].strip() else ""
    raise BadInput(
        f"{name} has {_count(len(mine), unit)} but {against} has {len(other)}: "
        f"{short.name} stops after {short.unit} {len(short)}, "
        f"{long.name} goes on at {long.unit} {len(short) + 1}{quoted}. {_reason(short, long)}"
    )


def check_references(
    references: Iterable[Iterable[object]], n: int, *, sources: Sequence[str] | None = None
) -> tuple[tuple[str, ...], ...]:
    """References as plainly keeps them: one row per item, blank and missing ones left out.

    sacrebleu and others want the transposed order, one list per reference; that is recognised and refused with the way
    to put it right. When there are as many references as items the shape says nothing, and the rows are compared with
    the sources if those are given.
    """
    rows: list[list[object]] = []
    for at, row in enumerate(references):
        if isinstance(row, str):
            raise BadInput(
                f"references[{at}] is a string; each item has a list of references. "
                "For one reference an item: [[r] for r in references]"
            )
        if not isinstance(row, Iterable):
            raise BadInput(f"references[{at}] is {_kind(row)}; each item has a list of references, which may be empty.")
        rows.append(list(row))
    if len(rows) != n:
        if rows and all(len(row) == n for row in rows):
            raise BadInput(
                f"references holds {_count(len(rows), 'list')} of {n}, one list for each reference (as for sacrebleu). "
                f"Plainly wants {_count(n, 'list')} of {len(rows)}, one an item. Turn them: list(zip(*references))"
            )
        raise BadInput(
            f"references has {_count(len(rows), 'row')} for {_count(n, 'item')}; give a list of references for each "
            "item, an empty one where there is none."
        )
    kept = tuple(
        tuple(text for column, value in enumerate(row) if (text := _reference(value, at, column)))
        for at, row in enumerate(rows)
    )
    if sources is not None and all(len(row) == n for row in rows) and looks_transposed(rows, sources):
        raise BadInput(
            f"references holds {n} lists of {n}, and references[j][i] is like sources[i]: they are in the order of "
            "sacrebleu, one list for each reference; plainly wants one for each item. Turn them: list(zip(*references))"
        )
    return kept


def looks_transposed(rows: Sequence[Sequence[object]], sources: Sequence[str]) -> bool:
    """Whether, in a square of references, columns rather than rows belong to the sources: do they share words?"""
    n = min(len(sources), 24)
    words = [_words(source) for source in sources[:n]]
    by_row = by_column = 0.0
    for i, j in permutations(range(n), 2):
        cell = _words(rows[i][j])
        by_row += _overlap(cell, words[i])
        by_column += _overlap(cell, words[j])
    return by_column > by_row + 0.1 * n * (n - 1)


def _words(text: object) -> frozenset[str]:
    """Words, and the characters of words that are not ASCII, because not every script puts spaces between words."""
    folded = text.casefold() if isinstance(text, str) else ""
    return frozenset(folded.split()) | frozenset(c for c in folded if ord(c) > 127)


def _overlap(words: frozenset[str], others: frozenset[str]) -> float:
    return len(words & others) / len(words | others) if words or others else 0.0


def _reference(value: object, at: int, column: int) -> str:
    if isinstance(value, str):
        return "" if value.isspace() else value
    if value is None or value != value:  # None and NaN are how tables say "nothing here"
        return ""
    raise BadInput(f"references[{at}][{column}] is {_kind(value)}, not text. Give strings, or None for no reference.")


def _kind(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _reason(short: Side, long: Side) -> str:
    """The likeliest reason for two lengths that differ, and the next step."""
    if separator := _separators(short.text, len(long)):
        at, character = separator
        return (
            f"{short.unit.capitalize()} {at} of {short.name} holds {_spell(character)}, which some tools take for the "
            f"end of a line: split there, {short.name} has {len(long)} lines, like {long.name}. "
            f"Replace it by a space in {short.name} and make {long.name} again."
        )
    blank = [at for at, line in enumerate(long.text, 1) if not line.strip()]
    if len(long) == len(short) + 1 and blank[-1:] == [len(long)]:
        return f"The last {long.unit} of {long.name} is blank: delete it if it is no item."
    if blank and len(long) - len(blank) == len(short):
        return (
            f"{long.name} has {_count(len(blank), f'blank {long.unit}')}, the first at {long.unit} {blank[0]}; without "
            f"them it has as many as {short.name}. Make {short.name} again with a line for every item, blank or not."
        )
    if (slip := _slip(short.text, long.text)) is not None:
        return (
            f"The {long.unit}s fit up to number {slip}; from there {short.name} seems to lack "
            f"{_count(len(long) - len(short), long.unit)}: "
            f"nothing in it is like {long.unit} {slip + 1} of {long.name}, "
            f"{_excerpt(long.text[slip])}."
        )
    return f"Each {long.unit} is one item: check that both were made from the same items."


def _slip(short: Sequence[str], long: Sequence[str]) -> int | None:
    """After which line the shorter side begins to lag behind the longer, judged by the words that lines share.

    The best way to match the lines when the shorter skips a few of the longer; None where words do not tell.
    """
    missing = len(long) - len(short)
    if not short or not 0 < missing <= _SLIPS or len(long) > _SLIP_LINES:
        return None
    mine, theirs = ([set(line.casefold().split()) for line in lines] for lines in (short, long))
    n = len(mine)
    # best[lag]: shared words so far with that many lines skipped; begun[lag]: where the first of them was skipped.
    best, begun = [0.0] * (missing + 1), [0] * (missing + 1)
    for at, words in enumerate(mine):
        for lag in range(missing, -1, -1):
            if lag and best[lag - 1] > best[lag]:
                best[lag], begun[lag] = best[lag - 1], at if lag == 1 else begun[lag - 1]
            other = theirs[at + lag]
            best[lag] += len(words & other) / max(len(words | other), 1)
    straight = sum(len(a & b) / max(len(a | b), 1) for a, b in zip(mine, theirs, strict=False))
    lagging = best[missing]
    return begun[missing] if lagging > _SURER * max(straight, 1e-9) and lagging / n > _ALIKE else None


def _separators(lines: Sequence[str], goal: int) -> tuple[int, str] | None:
    """The line and character where splitting at Unicode separators first adds a line, if that explains ``goal``."""
    counts = dict.fromkeys(SEPARATORS, 0)
    first: dict[str, int] = {}
    for at, line in enumerate(lines, 1):
        for character in counts:
            if character in line:
                counts[character] += line.count(character)
                first.setdefault(character, at)
    missing = goal - len(lines)
    for character, count in counts.items():
        if count == missing:
            return first[character], character
    if sum(max(len(line.splitlines()), 1) for line in lines) != goal:
        return None
    character = min(first, key=lambda c: first[c])
    return first[character], character


def _spell(character: str) -> str:
    return f"U+{ord(character):04X} ({_NAMES.get(character) or unicodedata.name(character, 'a control character')})"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _excerpt(text: str, *, most: int = 40) -> str:
    shown = "".join(c if c.isprintable() else " " for c in text[: most + 1])
    return f"“{shown[:most]}…”" if len(text) > most else f"“{shown}”"
