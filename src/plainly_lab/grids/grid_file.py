"""A grid as its TOML file describes it, checked whole before the first score: types, settings, names that clash."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Record
from plainly.core.settings import Settings, convert_settings, read_settings

# A file's name may have 255 bytes, and something is added to it.
_LONGEST = 200
DEMO = "demo"  # the small set that comes with plainly, and its toy systems


@dataclass(frozen=True)
class TestSet:
    """A named set, or files: what ``plainly.io.read_evalset`` takes."""

    name: str
    set: str | None = None
    files: Mapping[str, Any] = field(default_factory=dict)

    def load(self, *, progress: Progress = no_progress) -> EvalSet:
        if self.set is not None:
            from plainly import data

            return data.demo()[0] if self.set == DEMO else data.load(self.set, progress=progress)
        from plainly.io import read_evalset

        return read_evalset(**self.files, name=self.name)


@dataclass(frozen=True)
class Entry:
    """What one system, with one seed or none, wrote for one test set."""

    test_set: TestSet
    system: str
    seed: int | None
    path: str | None  # None: a published output of a named set
    published: str | None = None

    @property
    def name(self) -> str:
        return self.system if self.seed is None else f"{self.system}@{self.seed}"

    @property
    def identity(self) -> Record:
        return {"test_set": self.test_set.name, "system": self.system, "seed": self.seed}

    def kept_in(self, out: Path) -> Path:
        """The file of its scores."""
        return out / "cells" / safe(self.test_set.name) / f"{safe(self.name)}.npz"

    def outputs(self, evalset: EvalSet) -> tuple[str, ...]:
        if self.path is None:
            from plainly import data

            name = self.published or self.system
            return data.demo()[1][name] if self.test_set.set == DEMO else data.outputs(self.test_set.set or "", name)
        from plainly.io import read_outputs

        systems = read_outputs(
            self.path, n=len(evalset), against=self.test_set.name, sources=evalset.sources, ids=evalset.ids
        )
        if len(systems) != 1:
            raise BadInput(f"{self.path} holds the outputs of {len(systems)} systems; a cell of a grid is one system.")
        return next(iter(systems.values()))


@dataclass(frozen=True)
class Config:
    """A grid as its file describes it."""

    out: Path
    metrics: tuple[str, ...]
    entries: tuple[Entry, ...]

    @property
    def test_sets(self) -> dict[str, TestSet]:
        return {entry.test_set.name: entry.test_set for entry in self.entries}


class _Checked(Settings, frozen=True):
    """Settings whose texts are names or paths, and whose lists are not empty and name no number twice."""

    def __post_init__(self) -> None:
        for key, value in asdict(self).items():
            if not _usable(value):
                raise ValueError(f"{key} must be names or paths, or different whole numbers, not {value!r:.60}.")


def _usable(value: object) -> bool:
    if isinstance(value, str):
        short = all(len(part.encode("utf-8", "replace")) <= 255 for part in value.split("/"))
        return short and bool(value.strip()) and "\0" not in value
    if isinstance(value, Mapping):
        return all(map(_usable, (*value, *value.values())))
    if isinstance(value, tuple):
        numbers = [number for number in value if isinstance(number, int)]
        return bool(value) and len(numbers) == len(set(numbers)) and all(map(_usable, value))
    return True


class TestSetSettings(_Checked, frozen=True):
    """One of ``[test_sets]``: a named set, or files."""

    set: str | None = None
    source: str | None = None
    references: str | tuple[str, ...] | None = None
    table: str | None = None
    groups: str | None = None
    columns: Mapping[str, str | tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        named = {name for name, value in asdict(self).items() if value is not None}
        if "set" in named and len(named) > 1:
            raise ValueError("a named set brings its own files; take out set or the others.")
        if not named & {"set", "source", "references", "table"}:
            raise ValueError("there is nothing to evaluate against. Name a set, source, references or a table.")

    def files(self, base: Path) -> Record:
        """What ``plainly.io.read_evalset`` takes, with paths relative to the grid's file."""
        references = [self.references] if isinstance(self.references, str) else self.references
        single = {"source": self.source, "table": self.table, "groups": self.groups}
        files: Record = {name: str(base / path) for name, path in single.items() if path is not None}
        if references is not None:
            files["references"] = [str(base / path) for path in references]
        return files if self.columns is None else {**files, "columns": self.columns}


class SystemSettings(_Checked, frozen=True):
    """One of ``[systems]``: files of its own, or a published output."""

    outputs: str | None = None
    published: str | None = None
    seeds: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.published is None and self.outputs is None:
            raise ValueError('a system must say where its outputs are: outputs = "runs/{test_set}.txt"')


class GridFile(_Checked, frozen=True):
    """A grid's file as it was written."""

    metrics: tuple[str, ...]
    test_sets: Mapping[str, str | dict[str, Any]] | tuple[str, ...]
    systems: Mapping[str, str | dict[str, Any]]
    out: str = "grid"
    seeds: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for kind, names in (("test_sets", self.test_sets), ("systems", self.systems)):
            if not names:
                raise ValueError(f"{kind} must not be empty. See: plainly grid --help")
            for name in names:
                if not name.strip(".") or len(safe(name).encode()) > _LONGEST:
                    raise ValueError(f"{kind}: {name[:40]!r} is not a name that a file can have.")


def read_config(path: str | Path) -> Config:
    """Read a grid from a TOML file; paths in it are relative to the file."""
    where, file, base = str(path), read_settings(path, GridFile), Path(path).resolve().parent
    for spec in file.metrics:
        registry.metric(spec)
    named = file.test_sets if isinstance(file.test_sets, Mapping) else {name: name for name in file.test_sets}
    test_sets = [_test_set(name, settings, base, where) for name, settings in named.items()]
    _check_distinct([(f"the test set {test.name!r}", safe(test.name)) for test in test_sets], where)
    entries: list[Entry] = []
    for test_set in test_sets:
        own = [
            entry
            for system, settings in file.systems.items()
            for entry in _entries(test_set, system, settings, file.seeds, base, f"{where}, system {system}")
        ]
        seeds = ["" if entry.seed is None else f" with seed {entry.seed}" for entry in own]
        described = [f"the system {entry.system!r}{seed}" for entry, seed in zip(own, seeds, strict=True)]
        _check_distinct([(text, safe(entry.name)) for text, entry in zip(described, own, strict=True)], where)
        entries += own
    return Config(base / file.out, tuple(dict.fromkeys(file.metrics)), tuple(entries))


def safe(name: str) -> str:
    """Return a name as a file's; names that become the same are refused."""
    return re.sub(r"[^\w.@+-]+", "-", name)


def _test_set(name: str, written: str | dict[str, Any], base: Path, where: str) -> TestSet:
    written = {"set": written} if isinstance(written, str) else written
    settings = convert_settings(written, TestSetSettings, where=f"{where}, test set {name}")
    return TestSet(name, settings.set, settings.files(base))


def _entries(
    test_set: TestSet, system: str, written: str | dict[str, Any], seeds: Sequence[int] | None, base: Path, where: str
) -> list[Entry]:
    written = {"outputs": written} if isinstance(written, str) else written
    settings = convert_settings(written, SystemSettings, where=where)
    if settings.published is not None:
        if test_set.set is None:
            raise BadInput(f"{where}: a published output needs a named set, and {test_set.name} is not one.")
        return [Entry(test_set, system, None, None, settings.published)]
    path = str(base / str(settings.outputs).replace("{test_set}", safe(test_set.name)))
    if "{seed}" not in str(settings.outputs):
        return [Entry(test_set, system, None, path)]
    if not (seeds := settings.seeds or seeds):
        raise BadInput(f"{where}: the outputs depend on {{seed}}; say which seeds: seeds = [1, 2, 3]")
    return [Entry(test_set, system, seed, path.replace("{seed}", str(seed))) for seed in seeds]


def _check_distinct(names: Sequence[tuple[str, str]], where: str) -> None:
    """Raise if two of what is described would have one name in the results."""
    first: dict[str, str] = {}
    for described, name in names:
        if name in first:
            raise BadInput(f"{where}: {first[name]} and {described} would both be kept as {name!r}. Rename one.")
        first[name] = described
