"""A run over a corpus that can be interrupted: what is done and the sums so far are kept in a file."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from plainly.core.errors import BadInput
from plainly.core.files import read_arrays, write_arrays
from plainly.core.machine import handling
from plainly.stats.exact_sum import Binned, ExactSum
from plainly.streaming.batches import Bad, Part
from plainly.streaming.binned_sums import Sums, Totals
from plainly.streaming.engines import Engine, Tell, Work

SCHEMA = "plainly.stream/2"
# The state is written this many seconds after it was last, or when writing would take a twentieth of the time.
_SAVE_SECONDS = 1.0
_SAVE_SHARE = 20


@dataclass(frozen=True)
class State:
    """How far a run has come, on disk: a run that was killed goes on from here."""

    key: str
    done: frozenset[int]
    totals: Totals
    aside_bytes: int = 0

    def save(self, path: Path) -> None:
        totals = self.totals
        arrays: dict[str, Any] = {}
        sums: list[list[Any]] = []
        for (system, spec), of_metric in totals.sums.items():
            if of_metric.binned is not None:
                arrays[f"bins{len(sums)}"] = of_metric.binned.rows
            for part, rows in of_metric.kept.items():
                arrays[f"rows{len(sums)}-{part}"] = rows
            exact = of_metric.exact
            sums.append([system, spec, [str(units) for units in exact.units], list(exact.rest), [*of_metric.kept]])
        about = {
            "schema": SCHEMA,
            "key": self.key,
            "done": sorted(self.done),
            "aside_bytes": self.aside_bytes,
            "items": totals.items,
            "read": totals.read,
            "set_aside": totals.set_aside,
            "bad": [list(vars(bad).values()) for bad in totals.bad],
            "references": totals.references,
            "fingerprint": totals.fingerprint,
            "sums": sums,
            "outcomes": [[*pair, *counts] for pair, counts in totals.outcomes.items()],
        }
        write_arrays(path, arrays, about, compress=False)

    @classmethod
    def load(cls, path: Path, key: str) -> State | None:
        """The state that was saved under this key; None where there is none, or it is another run's."""
        try:
            arrays, about = read_arrays(path)
            if about.get("schema") != SCHEMA or about["key"] != key:
                return None
            sums = {}
            for number, (system, spec, units, rest, parts) in enumerate(about["sums"]):
                binned = Binned(arrays[f"bins{number}"]) if f"bins{number}" in arrays else None
                kept = {part: arrays[f"rows{number}-{part}"] for part in parts}
                sums[system, spec] = Sums(ExactSum(tuple(map(int, units)), tuple(rest)), binned, kept)
            totals = Totals(
                items=about["items"],
                read=about["read"],
                set_aside=about["set_aside"],
                bad=[Bad(*fields) for fields in about["bad"]],
                references=tuple(about["references"]) if about["references"] else None,
                fingerprint=about["fingerprint"],
                sums=sums,
                outcomes={tuple(counts[:3]): tuple(counts[3:]) for counts in about["outcomes"]},
            )
            return cls(key, frozenset(about["done"]), totals, about["aside_bytes"])
        except OSError:  # none there, or in a place that cannot be read: a run from the beginning
            return None
        except Exception as error:  # whatever is wrong in a damaged file, it is the file
            raise BadInput(
                f"{path} does not hold the state of a run ({error}). Remove it, or use --restart, to start again."
            ) from None


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C and a request to end wait: sums that were half added would be no sums."""
    caught: list[int] = []
    with handling(lambda number, _: caught.append(number), signal.SIGINT, signal.SIGTERM):
        yield
    if caught:
        signal.raise_signal(caught[0])


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadInput(f"Cannot write {path}: {error.strerror or error}.") from error


class Run:
    """A run in progress: what is done, the sums so far, and the files that keep both."""

    def __init__(self, key: str, state: Path | None, aside: Path | None) -> None:
        self._key, self._path, self._aside = key, state, aside
        saved = State.load(state, key) if state is not None else None
        self.done = set(saved.done) if saved else set()
        self.totals = saved.totals if saved else Totals()
        self._saved, self._took, self._unsaved = time.monotonic(), 0.0, False
        self.unkept = ""  # why the state could not be kept
        if aside is not None:
            with _writing(aside):
                aside.touch()
                with open(aside, "r+b") as file:  # what was written after the state was last saved will come again
                    file.truncate(saved.aside_bytes if saved else 0)

    def measure(
        self, parts: Sequence[Part], work: Work[tuple[int, Part], Totals], engine: Engine, *, gpus: float, tell: Tell
    ) -> None:
        """Do the work on the parts that are not done; an interrupt keeps those that are."""
        waiting = [(number, part) for number, part in enumerate(parts) if number not in self.done]
        results = engine.run(work, waiting, tell=tell, gpus=gpus)
        try:
            for place, totals in results:
                with _uninterrupted():
                    self._finish(waiting[place][0], totals)
        except KeyboardInterrupt:
            pass
        finally:
            results.close()  # type: ignore[attr-defined]
            self._save()

    def _finish(self, number: int, totals: Totals) -> None:
        if self._aside is not None and totals.bad:
            with _writing(self._aside), open(self._aside, "a", encoding="utf-8") as file:
                for bad in totals.bad:
                    file.write(json.dumps(asdict(bad), ensure_ascii=False) + "\n")
        self.totals.merge(totals)
        self.done.add(number)
        self._unsaved = True
        if time.monotonic() - self._saved > max(_SAVE_SECONDS, _SAVE_SHARE * self._took):
            self._save()

    def _save(self) -> None:
        if self._path is None or not self._unsaved:
            return
        start = time.monotonic()
        written = self._aside.stat().st_size if self._aside is not None else 0
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            State(self._key, frozenset(self.done), self.totals, written).save(self._path)
        except (OSError, BadInput) as error:  # needed only to resume
            self.unkept, self._path = str(error), None
            return
        self._saved, self._unsaved = time.monotonic(), False
        self._took = self._saved - start

    def forget(self) -> None:
        """Remove the state: the run is complete."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
