"""What systems wrote, several in one call, each under the name by which every later table calls it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from plainly.errors import BadInput
from plainly.inputs.checks import check_length
from plainly.inputs.files import STDIN, PathLike, check_once, expand, label, stem
from plainly.inputs.lines import read_lines


@dataclass(frozen=True)
class _System:
    name: str
    longer_name: str  # what tells it from another of the same name; empty when the user chose the name
    file: str
    lines: tuple[str, ...]


def read_outputs(
    specs: PathLike | Iterable[PathLike],
    *,
    n: int | None = None,
    against: str = "the evaluation set",
    sources: Sequence[str] = (),
) -> dict[str, tuple[str, ...]]:
    """The outputs of each system: ``PATH`` or ``NAME=PATH``, patterns allowed, ``-`` for standard input.

    A system's name defaults to the file's, without suffixes such as .txt. ``n`` is how many items there must be, and
    ``against`` and ``sources`` let an error say with what a file was compared; without ``n`` all must be as long as the
    first.
    """
    named = [pair for spec in ([specs] if isinstance(specs, (str, os.PathLike)) else specs) for pair in _parse(spec)]
    if not named:
        raise BadInput("There are no outputs. Give at least one file that a system wrote.")
    check_once(path for _, path in named)
    systems = [system for name, path in named for system in _read(name, path)]
    expected: Sequence[str] | int = (
        sources if n is not None and len(sources) == n else n if n is not None else systems[0].lines
    )
    for system in systems:
        check_length(
            system.file, system.lines, against=against if n is not None else systems[0].file, expected=expected
        )
    return dict(zip(_names(systems), (system.lines for system in systems), strict=True))


def _parse(spec: PathLike) -> list[tuple[str, str]]:
    text = os.fspath(spec)
    name, equals, path = text.partition("=")
    if not equals or os.path.exists(text) or any(separator in name for separator in {"/", os.sep}):
        return [("", path) for path in expand(text)]
    if not name or not path:
        raise BadInput(f"{text!r} is not NAME=PATH: {'the name' if not name else 'the path'} is missing.")
    paths = expand(path)
    if len(paths) > 1:
        raise BadInput(f"{text!r} gives one name to {len(paths)} files. Give each its own NAME=PATH, or no name.")
    return [(name, paths[0])]


def _read(name: str, path: str) -> list[_System]:
    lines = tuple(read_lines(path))
    if name:
        return [_System(name, "", label(path), lines)]
    short = stem(path)
    folder = "" if path == STDIN else Path(path).absolute().parent.name
    return [_System(short, f"{folder}/{short}", label(path), lines)]


def _names(systems: Sequence[_System]) -> list[str]:
    taken = Counter(system.name for system in systems)
    names = [system.longer_name if taken[system.name] > 1 and system.longer_name else system.name for system in systems]
    files: dict[str, str] = {}
    for name, system in zip(names, systems, strict=True):
        if name in files:
            raise BadInput(
                f"Two systems would be called {name!r}: {files[name]} and {system.file}. Name them apart: NAME=PATH"
            )
        files[name] = system.file
    return names
