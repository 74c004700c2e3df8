"""A run over a corpus: sums of the rows measured so far, by bin and in all, kept in a file so that it can resume."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet, fingerprint
from plainly.core.files import read_arrays, record_written, write_arrays
from plainly.core.limits import handle_signals
from plainly.core.metric import Floats
from plainly.stats.exact_sum import BinnedSum, BinOrder, ExactSum
from plainly.streaming.batches import Bad, Part
from plainly.streaming.corpus import Texts
from plainly.streaming.engines import Engine, Tell, Work

SCHEMA = "plainly.stream/2"
# Rows set aside that are listed; all are counted, and all are written if there is a file for them.
NAMED = 1000
_FINGERPRINTS = 1 << 64
_SAME = 1e-9  # two scores closer than this are equal, as in plainly.scoring.compare
_COUNTS = ("items", "read", "set_aside", "fingerprint")  # the fields of Totals that are plain numbers
# The state is saved this many seconds after it was last, or when saving would take a twentieth of the time.
SAVE_SECONDS = 1.0
_SAVE_SHARE = 20


@dataclass
class Sums:
    """One metric on one system: the sum, and the rows by bin, or by item and part if the corpus is held."""

    exact: ExactSum
    binned: BinnedSum | None
    item_rows: dict[int, Floats] = field(default_factory=dict)

    def add(self, rows: Floats, order: BinOrder | None, part: int | None) -> None:
        self.exact += ExactSum.of(rows)
        if self.binned is not None and order is not None:
            self.binned.add(rows, order)
        if part is not None:
            self.item_rows[part] = np.concatenate([self.item_rows[part], rows]) if part in self.item_rows else rows

    def merge(self, other: Sums) -> None:
        """Add the sums of other parts."""
        self.exact += other.exact
        if self.binned is not None and other.binned is not None:
            self.binned.rows += other.binned.rows
        self.item_rows |= other.item_rows


@dataclass
class Totals:
    """Sums and counts over the items measured so far. Those of two parts can be added in any order."""

    items: int = 0
    read: int = 0
    set_aside: int = 0
    bad: list[Bad] = field(default_factory=list)
    references: tuple[int, int] | None = None  # fewest and most of an item
    fingerprint: int = 0
    sums: dict[tuple[str, str], Sums] = field(default_factory=dict)
    # (metric, system, other system) → on how many items the first scores higher, lower and the same
    outcomes: dict[tuple[str, str, str], tuple[int, int, int]] = field(default_factory=dict)
    # By part, the texts of a corpus that is held; they are not saved, since the corpus itself is on disk.
    texts: dict[int, list[Texts]] = field(default_factory=dict)

    def count(self, evalset: EvalSet) -> None:
        """Count a batch's items and references, and update the fingerprint, which does not depend on the order."""
        self.items += len(evalset)
        if evalset.references and len(evalset):
            counts = evalset.reference_counts
            self._widen((int(counts.min()), int(counts.max())))
        self.fingerprint = (self.fingerprint + fingerprint(evalset.sources, evalset.references)) % _FINGERPRINTS

    def add(self, system: str, spec: str, rows: Floats, order: BinOrder | None, *, part: int | None = None) -> None:
        """Add a batch's rows of one metric on one system; with ``part`` the rows themselves are kept."""
        key, width = (system, spec), rows.shape[1]
        if key not in self.sums:
            self.sums[key] = Sums(ExactSum.zero(width), BinnedSum.zero(width) if order is not None else None)
        self.sums[key].add(rows, order, part)

    def count_wins(self, spec: str, segments: Mapping[str, Floats]) -> None:
        """Count, for every two systems, which of them scores higher on each item; undefined items are in no count."""
        for one, other in combinations(segments, 2):
            difference = segments[one] - segments[other]
            higher, lower, same = difference >= _SAME, difference <= -_SAME, np.abs(difference) < _SAME
            self._add_outcome((spec, one, other), (int(higher.sum()), int(lower.sum()), int(same.sum())))

    def merge(self, other: Totals) -> None:
        """Add another part's totals to these."""
        self.items += other.items
        self.read += other.read
        self.set_aside += other.set_aside
        self.fingerprint = (self.fingerprint + other.fingerprint) % _FINGERPRINTS
        self.bad = sorted([*self.bad, *other.bad], key=lambda bad: (bad.file, bad.first))[:NAMED]
        if other.references is not None:
            self._widen(other.references)
        for key, sums in other.sums.items():
            if key in self.sums:
                self.sums[key].merge(sums)
            else:
                self.sums[key] = sums
        for pair, counts in other.outcomes.items():
            self._add_outcome(pair, counts)
        self.texts |= other.texts

    def _add_outcome(self, pair: tuple[str, str, str], counts: tuple[int, int, int]) -> None:
        before = self.outcomes.get(pair, (0, 0, 0))
        self.outcomes[pair] = before[0] + counts[0], before[1] + counts[1], before[2] + counts[2]

    def _widen(self, counts: tuple[int, int]) -> None:
        before = self.references or counts
        self.references = min(before[0], counts[0]), max(before[1], counts[1])


@contextmanager
def _interrupts_delayed() -> Iterator[None]:
    """Delay Ctrl-C and termination, so that sums are never added in part."""
    numbers: list[int] = []
    with handle_signals(lambda number, _: numbers.append(number), signal.SIGINT, signal.SIGTERM):
        yield
    if numbers:
        signal.raise_signal(numbers[0])


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadInput(f"Cannot write {path}: {error.strerror or error}.") from error


class Run:
    """A run in progress: the parts that are done, the sums so far, and the files that keep both."""

    def __init__(self, key: str, state: str | Path | None, aside: str | Path | None) -> None:
        self._key = key
        self._path, self._aside = (Path(path) if path is not None else None for path in (state, aside))
        self.done: set[int] = set()
        self.totals = Totals()
        self.save_error = ""  # why the state could not be saved
        self._save_time, self._is_saved = time.monotonic() + SAVE_SECONDS, True
        aside_bytes = self._load() if self._path is not None else 0
        if self._aside is not None:
            with _writing(self._aside), open(self._aside, "ab") as file:
                file.truncate(aside_bytes)  # rows that were written after the last save will come again
            record_written(self._aside)

    def measure(
        self, parts: Sequence[Part], work: Work[tuple[int, Part], Totals], engine: Engine, *, gpus: float, tell: Tell
    ) -> None:
        """Do the work on the parts that are not done; an interrupt keeps those that are."""
        waiting = [(number, part) for number, part in enumerate(parts) if number not in self.done]
        results = engine.run(work, waiting, tell=tell, gpus=gpus)
        try:
            for task, totals in results:
                with _interrupts_delayed():
                    self._finish(waiting[task][0], totals)
        except KeyboardInterrupt:
            pass
        finally:
            results.close()  # type: ignore[attr-defined]
            self._save()

    def forget(self) -> None:
        """Remove the state: the run is complete."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _finish(self, number: int, totals: Totals) -> None:
        if self._aside is not None and totals.bad:
            with _writing(self._aside):
                with open(self._aside, "a", encoding="utf-8") as file:
                    file.writelines(json.dumps(asdict(bad), ensure_ascii=False) + "\n" for bad in totals.bad)
                record_written(self._aside)
        self.totals.merge(totals)
        self.done.add(number)
        self._is_saved = False
        if time.monotonic() > self._save_time:
            self._save()

    def _save(self) -> None:
        if self._path is None or self._is_saved:
            return
        start = time.monotonic()
        arrays: dict[str, Any] = {}
        sums: list[list[Any]] = []
        for (system, spec), of_metric in self.totals.sums.items():
            if of_metric.binned is not None:
                arrays[f"bins{len(sums)}"] = of_metric.binned.rows
            for part, rows in of_metric.item_rows.items():
                arrays[f"rows{len(sums)}-{part}"] = rows
            exact = of_metric.exact
            sums.append([system, spec, [str(units) for units in exact.units], list(exact.rest), [*of_metric.item_rows]])
        about = {
            "schema": SCHEMA,
            "key": self._key,
            "done": sorted(self.done),
            "aside_bytes": self._aside.stat().st_size if self._aside is not None else 0,
            **{name: getattr(self.totals, name) for name in _COUNTS},
            "bad": [list(vars(bad).values()) for bad in self.totals.bad],
            "references": self.totals.references,
            "sums": sums,
            "outcomes": [[*pair, *counts] for pair, counts in self.totals.outcomes.items()],
        }
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_arrays(self._path, arrays, about, compress=False)
        except (OSError, BadInput) as error:  # needed only to resume
            self.save_error, self._path = str(error), None
            return
        end = time.monotonic()
        self._save_time, self._is_saved = end + max(SAVE_SECONDS, _SAVE_SHARE * (end - start)), True

    def _load(self) -> int:
        """Load the state if it is that of the same run; return the size of the file of rows set aside."""
        try:
            arrays, about = read_arrays(self._path)  # type: ignore[arg-type]
            if about.get("schema") != SCHEMA or about["key"] != self._key:
                return 0
            sums = {}
            for number, (system, spec, units, rest, parts) in enumerate(about["sums"]):
                binned = BinnedSum(arrays[f"bins{number}"]) if f"bins{number}" in arrays else None
                rows = {part: arrays[f"rows{number}-{part}"] for part in parts}
                sums[system, spec] = Sums(ExactSum(tuple(map(int, units)), tuple(rest)), binned, rows)
            self.totals = Totals(
                **{name: about[name] for name in _COUNTS},
                bad=[Bad(*fields) for fields in about["bad"]],
                references=tuple(about["references"]) if about["references"] else None,
                sums=sums,
                outcomes={tuple(counts[:3]): tuple(counts[3:]) for counts in about["outcomes"]},
            )
            self.done = set(about["done"])
            return int(about["aside_bytes"])
        except OSError:  # no file, or an unreadable one: start from the beginning
            return 0
        except Exception as error:  # anything that a damaged file can cause
            raise BadInput(
                f"{self._path} does not contain the state of a run ({error}). Remove it, or use --restart."
            ) from None
