"""Checks that the parts of an input fit together: lengths, ids, the shape of references.

Everything is checked before anything is computed; an error names the likeliest reason and the next step.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations

from plainly.core.errors import BadInput
from plainly.core.formatting import count_noun
from plainly.io.tables import Sheet, table_format

# Characters at which str.splitlines and other tools end a line, unlike the writers of text files; the line feed is
# among them for cells of tables.
SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r\n"
_NAMES = {"\x85": "NEXT LINE", "\x0b": "VERTICAL TAB", "\x0c": "FORM FEED", "\r": "CARRIAGE RETURN", "\n": "LINE FEED"}
# Where lines are missing is searched for if at most so many are, in files of at most so many lines. Matched lines must
# share a tenth of their words, a tenth more than without a shift.
_SLIPS, _SLIP_LINES = 5, 50_000
_ALIKE, _SURER = 0.1, 1.1


@dataclass(frozen=True)
class Side:
    """One of two things that must be equally long: its name, its lines and their unit."""

    name: str
    lines: Sequence[str] | int  # only their number if there is no text to show
    unit: str = "line"
    rows: Sequence[tuple[str, ...]] = ()  # of references, if they are from a table

    def __len__(self) -> int:
        return self.lines if isinstance(self.lines, int) else len(self.lines)

    @property
    def text(self) -> Sequence[str]:
        return () if isinstance(self.lines, int) else self.lines

    def check(self, other: Side) -> None:
        """Raise unless both are equally long; the error says where the shorter stops, and the likeliest reason."""
        if len(self) == len(other):
            return
        short, long = (self, other) if len(self) < len(other) else (other, self)
        following = "".join(long.text[len(short) : len(short) + 1])
        quotation = f": {_excerpt(following)}" if following.strip() else ""
        raise BadInput(
            f"{self.name} has {count_noun(len(self), self.unit)} but {other.name} has {len(other):,}: "
            f"{short.name} stops after {short.unit} {len(short)}, "
            f"{long.name} goes on at {long.unit} {len(short) + 1}{quotation}. {_explain(short, long)}"
        )


def check_length(
    name: str, lines: Sequence[str] | int, *, against: str, expected: Sequence[str] | int, unit: str = "line"
) -> None:
    """Raise unless ``lines`` has as many items as ``expected``; either may be only a number if there is no text.

    ``unit`` is "row" if ``name`` is a table.
    """
    Side(name, lines, unit).check(Side(against, expected, "row" if table_format(against) else "line"))


def check_unique(ids: Sequence[str], locate: Callable[[int], str]) -> None:
    """Raise if two items have the same id; ``locate`` returns the place of a row for the message."""
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if first.setdefault(name, row) != row:
            raise BadInput(
                f"{locate(row)}: the id {name!r} is already used at {locate(first[name])}. Remove or rename one."
            )


def match_ids(table: Sheet, own: Sequence[str], ids: Sequence[str], *, may_lack: bool) -> Sequence[int | None]:
    """Return the row of a table for each item of the set, by id; None for items that it lacks, if it ``may_lack`` some.

    This is the one place where ids are matched. Rows are in order where the set's ids are only line numbers and the
    table's are not. Ids that count from 0 are matched with those of a set that counts from 1.
    """
    is_numbered = all(name == str(at) for at, name in enumerate(ids, 1))
    if is_numbered and sorted(own) == sorted(str(at) for at in range(len(ids))):
        own = [str(int(name) + 1) for name in own]
    if list(own) == list(ids) or (is_numbered and not set(ids) & set(own)):
        return range(len(own))
    check_unique(own, table.where)
    id_set, rows = set(ids), {name: row for row, name in enumerate(own)}
    if unknown := [name for name in rows if name not in id_set]:
        raise BadInput(
            f"{table.where(rows[unknown[0]])}: the id {unknown[0]!r} is not in the evaluation set. Give outputs for "
            "the same items, or leave the id column out to pair them in order."
        )
    absent = [name for name in ids if name not in rows]
    if absent and not may_lack:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        raise BadInput(
            f"{table.path} has no output for the item with id {absent[0]!r}{more}. Add it, or score what is missing "
            "as empty, or only what there is: incomplete='empty' or incomplete='skip'"
        )
    return [rows.get(name) for name in ids]


def check_references(
    references: Iterable[Iterable[object]], n: int, *, sources: Sequence[str] | None = None
) -> tuple[tuple[str, ...], ...]:
    """Return references as tuples, one row per item, without blank and missing ones.

    sacrebleu and others use the transposed order, one list per reference; that is recognised and refused with the way
    to correct it. With as many references as items the shape does not show the order, and the rows are compared with
    the sources, if there are any.
    """
    rows: list[list[object]] = []
    for at, row in enumerate(references):
        if isinstance(row, str) or not isinstance(row, Iterable):
            kind = "a string" if isinstance(row, str) else _kind(row)
            raise BadInput(
                f"references[{at}] is {kind}; each item has a list of references, which may be empty. "
                "If every item has one reference: [[r] for r in references]"
            )
        rows.append(list(row))
    is_square = all(len(row) == n for row in rows)
    if len(rows) != n and rows and is_square:
        raise BadInput(
            f"references holds {count_noun(len(rows), 'list')} of {n}, one list for each reference (as for sacrebleu). "
            f"Pass {count_noun(n, 'list')} of {len(rows)}, one for each item: list(zip(*references))"
        )
    if len(rows) != n:
        raise BadInput(
            f"references has {count_noun(len(rows), 'row')} for {count_noun(n, 'item')}; give a list of references for "
            "each item, an empty one where there is none."
        )
    texts = tuple(
        tuple(text for column, value in enumerate(row) if (text := _check_reference(value, at, column)))
        for at, row in enumerate(rows)
    )
    if sources is not None and is_square and looks_transposed(rows, sources):
        raise BadInput(
            f"references holds {n} lists of {n}, and references[j][i] is like sources[i]: they are in the order of "
            "sacrebleu, one list for each reference. Pass one list for each item: list(zip(*references))"
        )
    return texts


def looks_transposed(rows: Sequence[Sequence[object]], sources: Sequence[str]) -> bool:
    """Return whether the columns of a square of references share more words with the sources than its rows."""
    n = min(len(sources), 24)
    words = [_words(source) for source in sources[:n]]
    by_row = by_column = 0.0
    for i, j in permutations(range(n), 2):
        cell = _words(rows[i][j])
        by_row += _overlap(cell, words[i])
        by_column += _overlap(cell, words[j])
    return by_column > by_row + 0.1 * n * (n - 1)


def _words(text: object) -> frozenset[str]:
    """Return the words, and the characters that are not ASCII, because not every script separates words by spaces."""
    folded = text.casefold() if isinstance(text, str) else ""
    return frozenset(folded.split()) | frozenset(c for c in folded if ord(c) > 127)


def _overlap(words: frozenset[str], others: frozenset[str]) -> float:
    return len(words & others) / max(len(words | others), 1)


def _check_reference(value: object, at: int, column: int) -> str:
    if isinstance(value, str):
        return "" if value.isspace() else value
    if value is None or value != value:  # None and NaN are missing values in tables
        return ""
    raise BadInput(f"references[{at}][{column}] is {_kind(value)}, not text. Give strings, or None for no reference.")


def _kind(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _explain(short: Side, long: Side) -> str:
    """Return the likeliest reason for two lengths that differ, and the next step."""
    if separator := _find_separator(short.text, len(long)):
        at, character = separator
        name = _NAMES.get(character) or unicodedata.name(character, "a control character")
        return (
            f"{short.unit.capitalize()} {at} of {short.name} holds U+{ord(character):04X} ({name}), which some tools "
            f"take for the end of a line: split there, {short.name} has {len(long)} lines, like {long.name}. "
            f"Replace it with a space in {short.name} and create {long.name} again."
        )
    blank = [at for at, line in enumerate(long.text, 1) if not line.strip()]
    if len(long) == len(short) + 1 and blank[-1:] == [len(long)]:
        return f"The last {long.unit} of {long.name} is blank: delete it if it is not an item."
    if blank and len(long) - len(blank) == len(short):
        return (
            f"{long.name} has {count_noun(len(blank), f'blank {long.unit}')}, the first at {long.unit} {blank[0]}; "
            f"without them it has as many as {short.name}. Create {short.name} again with a line for every item, "
            "blank or not."
        )
    if (slip := _find_slip(short.text, long.text)) is not None:
        return (
            f"The {long.unit}s fit up to number {slip}; from there {short.name} seems to lack "
            f"{count_noun(len(long) - len(short), long.unit)}: "
            f"nothing in it is like {long.unit} {slip + 1} of {long.name}, {_excerpt(long.text[slip])}."
        )
    return f"Each {long.unit} is one item: check that both were made from the same items."


def _find_slip(short: Sequence[str], long: Sequence[str]) -> int | None:
    """Return the line after which the shorter side lags behind the longer, by the words that lines share.

    This is the best way to match the lines if the shorter side skips a few of the longer; None if no way is clear.
    """
    missing = len(long) - len(short)
    if not short or not 0 < missing <= _SLIPS or len(long) > _SLIP_LINES:
        return None
    ours, theirs = ([frozenset(line.casefold().split()) for line in lines] for lines in (short, long))
    # best[lag]: shared words so far with that many lines skipped; start[lag]: where the first of them was skipped.
    best, start = [0.0] * (missing + 1), [0] * (missing + 1)
    for at, words in enumerate(ours):
        for lag in range(missing, -1, -1):
            if lag and best[lag - 1] > best[lag]:
                best[lag], start[lag] = best[lag - 1], at if lag == 1 else start[lag - 1]
            best[lag] += _overlap(words, theirs[at + lag])
    unshifted = sum(map(_overlap, ours, theirs))
    is_clear = best[missing] > _SURER * max(unshifted, 1e-9) and best[missing] > _ALIKE * len(ours)
    return start[missing] if is_clear else None


def _find_separator(lines: Sequence[str], goal: int) -> tuple[int, str] | None:
    """Return the line and character where splitting at separators first adds a line, if that explains ``goal``."""
    counts = dict.fromkeys(SEPARATORS, 0)
    first: dict[str, int] = {}
    for at, line in enumerate(lines, 1):
        for character in counts:
            if character in line:
                counts[character] += line.count(character)
                first.setdefault(character, at)
    explaining = [character for character, count in counts.items() if count == goal - len(lines)]
    if not explaining and sum(max(len(line.splitlines()), 1) for line in lines) != goal:
        return None
    character = explaining[0] if explaining else min(first, key=first.__getitem__)
    return first[character], character


def _excerpt(text: str) -> str:
    start = "".join(c if c.isprintable() else " " for c in text[:40])
    return f"“{start}{'…' * (len(text) > 40)}”"
