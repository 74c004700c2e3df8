"""An evaluation set from files, checked as a whole before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from plainly.errors import BadInput
from plainly.evalset import EvalSet
from plainly.inputs.checks import check_length, looks_transposed
from plainly.inputs.files import PathLike, check_once, expand, label
from plainly.inputs.lines import read_lines

_TURN = (
    "Each file is one reference and has a line for every item. Turn them, with FILES in the order of the items: "
    "paste -s FILES | cut -f 1 > reference.1.txt, then cut -f 2, and so on."
)


def read_evalset(
    *,
    source: PathLike | None = None,
    references: PathLike | Iterable[PathLike] = (),
    groups: PathLike | None = None,
    ids: PathLike | None = None,
    name: str | None = None,
) -> EvalSet:
    """An evaluation set from files with one sentence a line.

    ``references`` are any number of files, each with a line for every item; patterns such as ``ref.*.txt`` are allowed.
    A blank line there means that the item lacks this reference. ``groups`` names each item's document.
    """
    paths = expand(references)
    check_once([source, *paths, groups, ids])
    if source is None and not paths:
        raise BadInput("There is nothing to evaluate against. Give a file of sources, files of references or a table.")
    against = label(source if source is not None else paths[0])
    files = {label(path): read_lines(path) for path in _distinct(paths)}
    sources = read_lines(source) if source is not None else None
    expected: Sequence[str] = sources if sources is not None else files[against]
    return EvalSet.of(
        sources,
        references=_by_item(files, against=against, expected=expected, sources=sources) if files else None,
        ids=_unique(_column(ids, against=against, expected=expected), ids),
        groups=_column(groups, against=against, expected=expected),
        name=against if name is None else name,
    )


def _distinct(paths: Sequence[str]) -> Sequence[str]:
    for at, path in enumerate(paths):
        if path in paths[:at]:
            raise BadInput(f"The references file {path} is given twice; a reference that counts twice changes scores.")
    return paths


def _by_item(
    files: dict[str, list[str]], *, against: str, expected: Sequence[str], sources: Sequence[str] | None
) -> list[tuple[str, ...]]:
    n = len(expected)
    lengths = {len(lines) for lines in files.values()}
    if sources is not None and len(files) == n and n not in lengths and n > 1:
        many = f"{min(lengths)}" if len(lengths) == 1 else f"{min(lengths)} to {max(lengths)}"
        first = next(iter(files))
        raise BadInput(
            f"The {n} references files are transposed: {first} and the others have {many} lines each, so each holds "
            f"the references of one of the {n} items in {against}. " + _TURN
        )
    for name, lines in files.items():
        check_length(name, lines, against=against, expected=expected)
    rows = list(zip(*files.values(), strict=True))
    if sources is not None and len(files) == n and looks_transposed(rows, sources):
        raise BadInput(
            f"The {n} references files are transposed: line i of {next(iter(files))} is not like line i of {against}, "
            "but each file as a whole is like one of its lines. " + _TURN
        )
    return rows


def _column(path: PathLike | None, *, against: str, expected: Sequence[str]) -> list[str] | None:
    if path is None:
        return None
    lines = read_lines(path)
    check_length(label(path), lines, against=against, expected=expected)
    return lines


def _unique(ids: Sequence[str] | None, path: PathLike | None) -> Sequence[str] | None:
    if ids is None or len(set(ids)) == len(ids):
        return ids
    seen: dict[str, int] = {}
    for at, name in enumerate(ids, 1):
        if name in seen:
            raise BadInput(
                f"{label(path or '')}:{at}: the id {name!r} is already at line {seen[name]}. Each id names one item."
            )
        seen[name] = at
    return ids
