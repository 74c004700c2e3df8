"""Checks that the parts of an input fit together: lengths, ids, the shape of references.

Everything is checked before anything is computed; an error names the likeliest reason and the next step.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from plainly.core.errors import BadInput
from plainly.core.evalset import check_values
from plainly.core.formatting import count_noun, listed
from plainly.io.tables import Sheet, table_format

# Characters at which str.splitlines and other tools end a line, unlike the writers of text files; the line feed is
# among them for cells of tables.
SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r\n"
_NAMES = {"\x85": "NEXT LINE", "\x0b": "VERTICAL TAB", "\x0c": "FORM FEED", "\r": "CARRIAGE RETURN", "\n": "LINE FEED"}
# Where lines are missing is searched for if at most so many are, in files of at most so many lines. Matched lines must
# share a tenth of their words, a tenth more than without a shift.
_SLIPS, _SLIP_LINES = 5, 50_000
_ALIKE, _SURER = 0.1, 1.1
HINT_LONG = (
    " If a row is what one of several systems wrote for an item, name the column of systems: "
    "columns={'system': 'COLUMN'}"
)


@dataclass(frozen=True)
class Side:
    """One of two things that must be equally long: its name, its lines and their unit."""

    name: str
    lines: Sequence[str] | int  # only their number if there is no text to show
    unit: str = "line"
    rows: Sequence[tuple[str, ...]] = ()  # of references, if they are from a table
    table: Sheet | None = None
    ids: Sequence[str] | None = None  # of the rows, if the table has any

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

    def reorder(self, ids: Sequence[str]) -> Side:
        """Return this side, as long as the set, in the order of the set's ids, if it has ids itself."""
        if self.table is None or self.ids is None:
            return self
        rows = [row for row in match_ids(self.table, self.ids, ids) if row is not None]
        return replace(self, lines=[self.text[row] for row in rows], rows=[self.rows[row] for row in rows])


def check_length(
    name: str, lines: Sequence[str] | int, *, against: str, expected: Sequence[str] | int, unit: str = "line"
) -> None:
    """Raise unless ``lines`` has as many items as ``expected``; either may be only a number if there is no text.

    ``unit`` is "row" if ``name`` is a table.
    """
    Side(name, lines, unit).check(Side(against, expected, "row" if table_format(against) else "line"))


def check_unique(ids: Sequence[str], locate: Callable[[int], str], step: str = "") -> None:
    """Raise if two items have the same id; ``locate`` returns the place of a row for the message, ``step`` ends it."""
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if first.setdefault(name, row) != row:
            raise BadInput(
                f"{locate(row)}: the id {name!r} is already used at {locate(first[name])}. Give every item its own id."
                f"{step}"
            )


def plain_id(name: str) -> str:
    """Return an id without spaces around it, and without the ".0" that data frames add to whole numbers."""
    return re.sub(r"\A([0-9]+)\.0+\Z", r"\1", name.strip())


def match_ids(table: Sheet, own: Sequence[str], ids: Sequence[str]) -> Sequence[int | None]:
    """Return the row of a table for each item of the set, by id; None for items that it lacks.

    This is the one place where ids are matched: as they are, or else as plain ids if these tell the items of the set
    apart. Ids that count from 0 are matched with those of a set that counts from 1. Any other id is an error.
    """
    if list(own) == list(ids):
        return range(len(own))
    is_numbered = all(name == str(at) for at, name in enumerate(ids, 1))
    if not set(own) <= set(ids):
        plain = [plain_id(name) for name in ids]
        if len(set(plain)) == len(plain):
            ids, own = plain, [plain_id(name) for name in own]
        if is_numbered and "0" in own and set(own) <= {str(at) for at in range(len(ids))}:
            ids = [str(at) for at in range(len(ids))]
    check_unique(own, table.where, HINT_LONG)
    id_set, rows = set(ids), {name: row for row, name in enumerate(own)}
    for name, row in rows.items():
        if name not in id_set:
            names = f"numbered 1 to {len(ids)}" if is_numbered else f"called {listed(list(map(repr, ids)), most=3)}"
            raise BadInput(
                f"{table.where(row)}: the id {name!r} is not in the evaluation set, whose items are {names}. Correct "
                "the id, or delete the column of ids if the rows are in the order of the set."
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
    rows = check_values("references", references, "references")
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
    if sources is not None and is_square and looks_transposed(rows, sources):
        raise BadInput(
            f"references holds {n} lists of {n}, and references[j][i] is like sources[i]: they are in the order of "
            "sacrebleu, one list for each reference. Pass one list for each item: list(zip(*references))"
        )
    return tuple(tuple(text for text in row if isinstance(text, str) and text.strip()) for row in rows)


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
