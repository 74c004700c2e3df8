"""The subset that isolates simplicity: outputs that are fluent and keep the meaning anyway (Cripwell et al. 2023).

Where an output is broken, people call it hard as well, and a metric can then seem to measure simplicity by measuring
fluency. On outputs that are all fluent and adequate it cannot.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.people.ratings import Judgements, Units

# What studies call the dimensions that are held fixed or filtered by, the likeliest first.
FLUENCY = ("fluency", "grammaticality")
ADEQUACY = ("meaning", "adequacy", "meaning_preservation")


@dataclass(frozen=True)
class Filter:
    """Which outputs to keep: those whose mean rating on every dimension is high enough.

    ``unit="sd"``: at least ``threshold`` standard deviations above the mean of all rated outputs. ``unit="points"``: at
    least ``threshold`` itself. Outputs of ``without_sources`` (a metric's training data, say) are left out as well.
    """

    dimensions: tuple[str, ...] = ("fluency_zscore", "meaning_zscore")
    threshold: float = 0.3
    unit: Literal["sd", "points"] = "sd"
    without_sources: Collection[str] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        judgements: Judgements,
        *,
        dimensions: Sequence[str] = (),
        threshold: float = 0.3,
        unit: Literal["sd", "points"] = "sd",
        without_sources: str | Collection[str] = (),
    ) -> Filter:
        """A filter by the named dimensions, or by fluency and meaning as these judgements call them.

        ``without_sources`` is a collection of texts, a file with one a line, or a card of ratings that has them.
        """
        names = tuple(dimensions) or (*_first(judgements, FLUENCY), *_first(judgements, ADEQUACY))
        if not names:
            raise BadInput(
                f"{judgements.name} has no dimension like fluency or meaning. Name some: --filter-by A,B, or "
                "Filter.of(…, dimensions=…)."
            )
        sources = _sources(without_sources) if isinstance(without_sources, str) and without_sources else without_sources
        return cls(names, threshold, unit, sources)

    def mask(self, judgements: Judgements, units: Units) -> npt.NDArray[np.bool_]:
        if self.unit not in ("sd", "points"):
            raise BadInput(f"The unit of a filter's threshold is sd or points, not {self.unit!r}.")
        kept = np.ones(len(units), dtype=bool)
        for values in (judgements.human(dimension, units) for dimension in self.dimensions):
            in_points = self.unit == "points"
            kept &= values >= (self.threshold if in_points else np.nanmean(values) + self.threshold * np.nanstd(values))
        if self.without_sources:
            if not judgements.sources:
                raise BadInput(
                    f"{judgements.name} does not say what the sources were, so none can be left out by text."
                )
            banned = {_folded(source) for source in self.without_sources}
            kept &= np.array([_folded(judgements.sources[item]) not in banned for item in units.item_names], dtype=bool)
        return kept

    def __str__(self) -> str:
        above = f"mean + {self.threshold:g} sd" if self.unit == "sd" else f"{self.threshold:g}"
        without = f", without {len(self.without_sources)} sources" if self.without_sources else ""
        return f"{' and '.join(self.dimensions)} ≥ {above}{without}"


def _first(judgements: Judgements, names: Sequence[str]) -> list[str]:
    """The first of these dimensions that was rated, as z-scores if there are any."""
    return [form for name in names for form in (f"{name}_zscore", name) if form in judgements][:1]


def _sources(name: str) -> frozenset[str]:
    from plainly import data
    from plainly.io.lines import read_lines
    from plainly.people.rating_tables import ROLES

    if Path(name).exists():
        return frozenset(read_lines(name))
    table = data.table(name)
    for column in ROLES["source"]:
        if column in table.columns:
            return frozenset(map(str, table[column]))
    raise BadInput(f"{name} has no column of sources.")


def _folded(text: str) -> str:
    """Letters and digits alone: the same sentence may be tokenised and cased in another way elsewhere."""
    return "".join(character for character in text.casefold() if character.isalnum())
