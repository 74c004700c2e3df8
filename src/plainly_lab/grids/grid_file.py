"""A grid as its TOML file describes it, checked whole before the first score: types, settings, names that clash."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.files import check_keys, read_toml
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Record

# A file's name may have 255 bytes, and something is added to it.
_LONGEST = 200
DEMO = "demo"  # the small set that comes with plainly, and its toy systems
_TOP = ("out", "metrics", "seeds", "test_sets", "systems")


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
    def described(self) -> str:
        """In words, for errors."""
        seed = "" if self.seed is None else f" with seed {self.seed}"
        return f"the system {self.system!r}{seed}"

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


def read_config(path: str | Path) -> Config:
    """A grid from a TOML file; paths in it are relative to the file."""
    where, written = str(path), read_toml(path)
    check_keys(written, _TOP, where)
    metrics = _checked(written.get("metrics"), _texts, 'metrics is a list: metrics = ["sari", "bleu"]', where)
    for spec in metrics:
        registry.metric(spec)
    out = _checked(written.get("out", "grid"), _text, 'out is a directory: out = "results"', where)
    seeds = _named_seeds(written, None, where)
    named, systems = written.get("test_sets"), written.get("systems")
    if isinstance(named, list):
        named = {
            name: name for name in _checked(named, _texts, 'test_sets as a list names sets: ["asset/test"]', where)
        }
    if not (isinstance(named, dict) and named and isinstance(systems, dict) and systems):
        raise BadInput(f"{where} must name test_sets and systems, each as a table. See: plainly grid --help")
    base = Path(path).resolve().parent
    test_sets = [_test_set(_named(name, "test set", where), settings, base, where) for name, settings in named.items()]
    entries = tuple(
        entry
        for test_set in test_sets
        for system, settings in systems.items()
        for entry in _entries(test_set, _named(system, "system", where), settings, seeds, base, where)
    )
    _check_distinct([(f"the test set {test.name!r}", safe(test.name)) for test in test_sets], where)
    for test_set in test_sets:
        _check_distinct([(entry.described, safe(entry.name)) for entry in entries if entry.test_set == test_set], where)
    return Config(base / out, tuple(dict.fromkeys(metrics)), entries)


def safe(name: str) -> str:
    """A name as a file's; names that become the same are refused."""
    return re.sub(r"[^\w.@+-]+", "-", name)


def _test_set(name: str, settings: Any, base: Path, where: str) -> TestSet:
    if isinstance(settings, str):
        settings = {"set": settings}
    place = f"{where}, test set {name}"
    settings = _checked(settings, _table, 'a test set is a name or a table: {source = "src.txt", …}', place)
    check_keys(settings, ("set", "source", "references", "table", "groups", "columns"), place)
    if "set" in settings:
        if len(settings) > 1:
            raise BadInput(f"{place}: a named set brings its own files; take out set or the others.")
        return TestSet(name, set=_checked(settings["set"], _text, 'set is a name: set = "asset/test"', place))
    files: Record = {}
    for key, value in settings.items():
        if key == "columns":
            files[key] = _checked(value, _columns, 'columns is a table of names: {source = "original"}', place)
        elif key == "references":
            paths = [value] if isinstance(value, str) else value
            paths = _checked(paths, _texts, 'references is a file or a list of files: ["ref.*.txt"]', place)
            files[key] = [str(base / path) for path in paths]
        else:
            files[key] = str(base / _checked(value, _text, f'{key} is a file: {key} = "{key}.txt"', place))
    if not files.keys() & {"source", "references", "table"}:
        raise BadInput(f"{place}: there is nothing to evaluate against. Name a set, source, references or a table.")
    return TestSet(name, files=files)


def _entries(
    test_set: TestSet, system: str, settings: Any, seeds: Sequence[int] | None, base: Path, where: str
) -> list[Entry]:
    place = f"{where}, system {system}"
    if isinstance(settings, str):
        settings = {"outputs": settings}
    settings = _checked(settings, _table, 'a system is a file or a table: {outputs = "runs/{test_set}.txt"}', place)
    check_keys(settings, ("outputs", "published", "seeds"), place)
    if "published" in settings:
        published = _checked(settings["published"], _text, 'published is a name: published = "ACCESS"', place)
        if test_set.set is None:
            raise BadInput(f"{where}: {system} is a published output, and {test_set.name} is no named set.")
        return [Entry(test_set, system, None, None, published)]
    message = 'a system must say where its outputs are: outputs = "runs/{test_set}.txt"'
    pattern = _checked(settings.get("outputs"), _text, message, place)
    seeds = _named_seeds(settings, seeds, place)
    if "{seed}" in pattern and not seeds:
        raise BadInput(f"{where}: the outputs of {system} depend on {{seed}}; say which seeds: seeds = [1, 2, 3]")
    path = str(base / pattern.replace("{test_set}", safe(test_set.name)))
    if "{seed}" not in pattern:
        return [Entry(test_set, system, None, path)]
    return [Entry(test_set, system, seed, path.replace("{seed}", str(seed))) for seed in seeds or ()]


def _checked(value: Any, fits: Callable[[Any], bool], expected: str, where: str) -> Any:
    if not fits(value):
        raise BadInput(f"{where}: {expected}{'' if value is None else f'; not {value!r:.60}'}.")
    return value


def _text(value: object) -> bool:
    """Whether it is a text of which no part is too long for the name of a file."""
    fits = isinstance(value, str) and bool(value.strip()) and "\0" not in value
    return fits and all(len(part.encode("utf-8", "replace")) <= 255 for part in str(value).split("/"))


def _texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_text, value))


def _seeds(value: Any) -> bool:
    whole = isinstance(value, list) and all(type(seed) is int for seed in value)
    return whole and bool(value) and len(set(value)) == len(value)


def _named_seeds(settings: Mapping[str, Any], usual: Sequence[int] | None, where: str) -> Sequence[int] | None:
    if "seeds" not in settings:
        return usual
    expected = "seeds is a list of different whole numbers: seeds = [1, 2, 3]"
    seeds: list[int] = _checked(settings["seeds"], _seeds, expected, where)
    return seeds


def _table(value: object) -> bool:
    return isinstance(value, dict)


def _columns(value: object) -> bool:
    return isinstance(value, dict) and all(_text(name) or _texts(name) for name in value.values())


def _named(name: str, what: str, where: str) -> str:
    """A name that a file can have."""
    if not _text(name) or not name.strip(".") or len(safe(name).encode()) > _LONGEST:
        raise BadInput(f"{where}: the name of a {what} is a short text, and not {name[:40]!r}.")
    return name


def _check_distinct(names: Sequence[tuple[str, str]], where: str) -> None:
    """Raise if two of what is described would have one name in the results."""
    first: dict[str, str] = {}
    for described, name in names:
        if name in first:
            raise BadInput(f"{where}: {first[name]} and {described} would both be kept as {name!r}. Rename one.")
        first[name] = described
