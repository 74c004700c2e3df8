"""Rankings of outputs, and the systems that people prefer: win rates, strengths and best–worst scores."""

import json
import pkgutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.formatting import number
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling
from plainly.io.files import suffixes
from plainly.io.tables import table_format
from plainly.people.rating_tables import READERS, is_studio_export, is_true, read_rating_table, without_excluded
from plainly.stats.preferences import Meeting, Preference, best_worst, preferences
from plainly.stats.resample import Estimate

SCHEMA = "plainly.preferences/1"


@dataclass(frozen=True, slots=True)
class Choice:
    """One rater's choice among the systems shown for one item; all fields are empty if they could not judge.

    Identical outputs tie without a rater.
    """

    item: str
    rater: str
    shown: tuple[str, ...]
    best: str | None = None
    worst: str | None = None
    tie: bool = False


def read_rankings(path: str | Path) -> tuple[Choice, ...] | None:
    """Read the rankings of a study, or of a table that a study exported; return None for other files."""
    if (suffix := suffixes(path)[0]) in READERS:
        choices: tuple[Choice, ...] | None = pkgutil.resolve_name(f"{READERS[suffix]}:rankings")(path)
        return choices
    if not Path(path).is_file() or table_format(path) is None:
        return None
    table = without_excluded(read_rating_table(path))
    if not is_studio_export(table) or "shown" not in table.columns:
        return None
    rows = zip(*(table.columns[name] for name in ("item", "rater", "shown", "best", "worst", "tie")), strict=True)
    return tuple(
        Choice(
            str(item), str(rater or ""), tuple(json.loads(str(systems))),
            str(best or "") or None, str(worst or "") or None, is_true(tie),
        )
        for item, rater, systems, best, worst, tie in rows
    )  # fmt: skip


@dataclass(frozen=True, repr=False)
class Preferences(Result):
    """Systems from the most to the least preferred; best–worst scores where rankings have a worst."""

    systems: tuple[Preference, ...]
    best_worst: dict[str, float]
    rankings: int
    raters: int
    undecided: int

    def records(self) -> list[Record]:
        return [
            {
                "system": row.system,
                "wins": row.wins,
                "losses": row.losses,
                "ties": row.ties,
                **_flat("win_rate", row.win_rate),
                **_flat("strength", row.strength),
                **({"best_worst": self.best_worst[row.system]} if self.best_worst else {}),
            }
            for row in self.systems
        ]

    def json(self) -> Record:
        rows = [{**row, **{name: asdict(getattr(system, name)) for name in ("win_rate", "strength")}}
                for row, system in zip(self.records(), self.systems, strict=True)]  # fmt: skip
        counts = {"rankings": self.rankings, "raters": self.raters, "undecided": self.undecided}
        return {"schema": SCHEMA, **counts, "systems": rows}

    def tables(self) -> list[Table]:
        head = ("system", "win rate", "strength", "wins", "losses", "ties")
        rows = [
            (row.system, *map(str, (row.win_rate, row.strength)), *map(str, (row.wins, row.losses, row.ties)))
            + ((number(self.best_worst[row.system], 2),) if self.best_worst else ())
            for row in self.systems
        ]
        caption = f"{self.rankings} rankings by {self.raters} raters, with 95 % intervals over items"
        return [Table(head + (("best–worst",) if self.best_worst else ()), tuple(rows), caption=caption)]

    def notes(self) -> list[Note]:
        notes = [Note("Win rate: comparisons won, a tie counts half. Strength: the logarithm of Davidson's strength.")]
        if self.undecided:
            notes.append(Note(f"{self.undecided} rankings are not counted: the rater could not decide."))
        return notes


def rank(choices: Sequence[Choice], *, sampling: Sampling = Sampling()) -> Preferences:
    """Compute how often each system was preferred, and its strength."""
    decided = [choice for choice in choices if choice.tie or choice.best or choice.worst]
    comparisons = [pair for choice in decided for pair in list_comparisons(choice)]
    if not comparisons:
        raise BadInput("There are no rankings yet.")
    scores: dict[str, float] = {}
    if any(choice.worst for choice in decided):
        displays = Counter(system for choice in decided for system in choice.shown)
        best, worst = Counter(choice.best for choice in decided), Counter(choice.worst for choice in decided)
        counts = [np.array([count[system] for system in displays]) for count in (displays, best, worst)]
        scores = dict(zip(displays, best_worst(*counts).tolist(), strict=True))
    raters = len({choice.rater for choice in choices} - {""})
    systems = tuple(preferences(comparisons, sampling=sampling))
    return Preferences(systems, scores, len(decided), raters, len(choices) - len(decided))


def list_comparisons(choice: Choice) -> Iterator[Meeting]:
    """Yield the comparisons in a choice: the best beats all others shown, all others beat the worst, or all tie."""
    if choice.tie:
        yield from (Meeting(choice.item, *pair, tie=True) for pair in combinations(choice.shown, 2))
        return
    for system in choice.shown:
        if choice.best and system != choice.best:
            yield Meeting(choice.item, choice.best, system)
        if choice.worst and system not in (choice.worst, choice.best):
            yield Meeting(choice.item, system, choice.worst)


def _flat(name: str, estimate: Estimate) -> Record:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
