"""Ratings as values: system × item × rater for one dimension, and several dimensions of the same outputs together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, UnknownName
from plainly.core.result import Note, Record
from plainly.core.sampling import Sampling
from plainly.stats.resample import Floats, ratio

Ints = npt.NDArray[np.int64]
Scale = tuple[float, float]

# From this many items on, intervals that resample items cover about as often as they claim.
FEW_ITEMS = 200
# The scales that studies of simplification use, narrowest first: a guess takes the first that holds all ratings.
SCALES: tuple[Scale, ...] = ((-2, 2), (1, 3), (1, 5), (0, 10), (0, 100))


class Rating(NamedTuple):
    """What one rater said of one output on one dimension; NaN where they did not say."""

    system: str
    item: str
    rater: str
    dimension: str
    value: float

    @property
    def said(self) -> bool:
        return self.value == self.value


@dataclass(frozen=True)
class Ratings:
    """One dimension (simplicity, fluency …) of what systems wrote: ``values[system, item, rater]``, NaN = not rated."""

    dimension: str
    systems: tuple[str, ...]
    items: tuple[str, ...]
    raters: tuple[str, ...]
    values: Floats = field(repr=False)
    scale: Scale | None = None

    def __post_init__(self) -> None:
        expected = (len(self.systems), len(self.items), len(self.raters))
        if self.values.shape != expected:
            raise BadInput(
                f"Ratings of {expected[0]} systems, {expected[1]} items and {expected[2]} raters have the shape "
                f"{expected}, not {self.values.shape}."
            )
        low, high = self.scale or (-np.inf, np.inf)
        for system, item, rater in np.argwhere((self.values < low) | (self.values > high)):
            raise BadInput(
                f"{self.dimension}: rater {self.raters[rater]!r} gave {self.values[system, item, rater]:g} to item "
                f"{self.items[item]!r} of {self.systems[system]!r}, outside the scale {low:g}..{high:g}."
            )

    @cached_property
    def counts(self) -> Ints:
        """How many raters rated each output: (systems, items)."""
        return np.asarray(np.sum(~np.isnan(self.values), axis=2))

    @cached_property
    def means(self) -> Floats:
        """The mean rating of each output, (systems, items); NaN where nobody rated it."""
        return _mean(self.values, axis=2)

    @cached_property
    def system_means(self) -> Floats:
        return _mean(self.means, axis=1)

    @cached_property
    def paired(self) -> npt.NDArray[np.bool_]:
        return np.asarray(np.all(self.counts > 0, axis=0))

    def matrix(self) -> Floats:
        """Ratings as units × raters, for agreement: a row for each rated output, raters without any left out."""
        rows = self.values[np.nonzero(self.counts)]
        return rows[:, ~np.isnan(rows).all(axis=0)]

    def units(self) -> Units:
        return Units(self.systems, self.items, *np.nonzero(self.counts))

    def standardised(self) -> Ratings:
        """z-scores per rater: each rater's mean becomes 0 and standard deviation 1, so that strictness cancels out."""
        flat = self.values.reshape(-1, len(self.raters))
        count = np.sum(~np.isnan(flat), axis=0)
        mean = ratio(np.nansum(flat, axis=0), count)
        spread = np.sqrt(ratio(np.nansum((flat - mean) ** 2, axis=0), count))
        spread = np.where(spread > 1e-12, spread, np.nan)  # A rater who always says the same says nothing.
        return replace(self, values=(self.values - mean) / spread, scale=None)

    def of_systems(self, systems: Sequence[str]) -> Ratings:
        return replace(self, systems=tuple(systems), values=self.values[_places(systems, self.systems)])


@dataclass(frozen=True)
class Units:
    """Chosen outputs: for each the place of its system and of its item."""

    systems: tuple[str, ...]
    items: tuple[str, ...]
    system: npt.NDArray[np.intp]
    item: npt.NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.system)

    def __getitem__(self, chosen: npt.NDArray[np.bool_]) -> Units:
        return replace(self, system=self.system[chosen], item=self.item[chosen])

    @property
    def system_names(self) -> list[str]:
        return [self.systems[at] for at in self.system]

    @property
    def item_names(self) -> list[str]:
        return [self.items[at] for at in self.item]


@dataclass(frozen=True)
class Judgements:
    """Several dimensions of the same outputs, and the texts where they are known: ``judgements["simplicity"]``."""

    name: str
    systems: tuple[str, ...]
    items: tuple[str, ...]
    ratings: Mapping[str, Ratings]
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    outputs: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)
    references: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict, repr=False)
    types: Mapping[str, str] = field(default_factory=dict, repr=False)
    remarks: tuple[Note, ...] = field(default=(), repr=False)  # what of a table is not among the ratings
    language: str = ""  # of the texts, where it is known

    def __getitem__(self, dimension: str) -> Ratings:
        if dimension not in self.ratings:
            raise UnknownName(f"dimension of {self.name}", dimension, self.ratings, see="plainly meta --help")
        return self.ratings[dimension]

    def __iter__(self) -> Iterator[str]:
        return iter(self.ratings)

    def __contains__(self, dimension: str) -> bool:
        return dimension in self.ratings

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(self.ratings)

    def of_systems(self, systems: Sequence[str]) -> Judgements:
        ratings = {name: ratings.of_systems(systems) for name, ratings in self.ratings.items()}
        return replace(self, systems=tuple(systems), ratings=ratings)

    def human(self, dimension: str, units: Units) -> Floats:
        """The mean rating of each unit; NaN where it was not rated on this dimension."""
        return self[dimension].means[units.system, units.item]

    def summary(self, sampling: Sampling) -> Record:
        """What was rated: the start of every result's JSON, schema plainly.meta/1."""
        return {
            "schema": "plainly.meta/1",
            "ratings": self.name,
            "seed": sampling.seed,
            "dimensions": [
                {
                    "dimension": name,
                    "systems": len(self.systems),
                    "items": len(self.items),
                    "raters": len(ratings.raters),
                    "outputs": len(ratings.units()),
                    "scale": list(ratings.scale or ()) or None,
                }
                for name, ratings in self.ratings.items()
            ],
        }

    def few_items(self) -> list[Note]:
        """Warn if intervals that resample items are too narrow because the items are few: see docs/statistics.md."""
        if len(self.items) >= FEW_ITEMS:
            return []
        message = (
            f"Only {len(self.items)} items were rated. Intervals over so few are too narrow, and stars too many: in "
            "simulations 88 to 94 % of 95 % intervals cover with 12 items, 91 to 94 % with 30, 92 to 95 % with 100."
        )
        return [Note(message, "warning", "few-items")]

    @staticmethod
    def of(
        name: str, ratings: Sequence[Rating], *, scales: Mapping[str, Scale] = MappingProxyType({}), **texts: Any
    ) -> Judgements:
        """Single ratings on axes in the order in which they come; a scale that is not known is guessed.

        ``texts`` are the further fields: sources, outputs, references, types, remarks.
        """
        by_dimension: dict[str, list[Rating]] = {}
        for rating in ratings:
            by_dimension.setdefault(rating.dimension, []).append(rating)
        system_at = _numbered(rating.system for rating in ratings)
        item_at = _numbered(rating.item for rating in ratings)
        placed = {}
        for dimension, rows in by_dimension.items():
            rater_at = _numbered(rating.rater for rating in rows)
            values = np.full((len(system_at), len(item_at), len(rater_at)), np.nan)
            for rating in rows:
                values[system_at[rating.system], item_at[rating.item], rater_at[rating.rater]] = rating.value
            scale = scales.get(dimension) or guess_scale(values)
            placed[dimension] = Ratings(dimension, tuple(system_at), tuple(item_at), tuple(rater_at), values, scale)
        return Judgements(name, tuple(system_at), tuple(item_at), placed, **texts)

    @staticmethod
    def together(name: str, *parts: Judgements) -> Judgements:
        """Judgements of different systems or dimensions on one set of axes."""
        systems = tuple(dict.fromkeys(system for part in parts for system in part.systems))
        items = tuple(dict.fromkeys(item for part in parts for item in part.items))
        ratings: dict[str, Ratings] = {}
        for dimension in dict.fromkeys(dimension for part in parts for dimension in part):
            having = [part for part in parts if dimension in part]
            raters = tuple(dict.fromkeys(rater for part in having for rater in part[dimension].raters))
            values = np.full((len(systems), len(items), len(raters)), np.nan)
            for rated in (part[dimension] for part in having):
                axes = ((rated.systems, systems), (rated.items, items), (rated.raters, raters))
                place = np.ix_(*(_places(wanted, known) for wanted, known in axes))
                values[place] = np.where(np.isnan(rated.values), values[place], rated.values)
            scales = {part[dimension].scale for part in having}
            scale = scales.pop() if len(scales) == 1 else None
            ratings[dimension] = Ratings(dimension, systems, items, raters, values, scale)
        references: dict[str, dict[str, tuple[str, ...]]] = {}
        for part in parts:
            for kind, of_items in part.references.items():
                references.setdefault(kind, {}).update(of_items)
        return Judgements(
            name,
            systems,
            items,
            ratings,
            sources={item: text for part in parts for item, text in part.sources.items()},
            outputs={place: text for part in parts for place, text in part.outputs.items()},
            references=references,
            types={system: kind for part in parts for system, kind in part.types.items()},
            remarks=tuple(remark for part in parts for remark in part.remarks),
        )


def guess_scale(values: Floats) -> Scale | None:
    """The narrowest usual scale that holds all ratings, or none if they are not whole numbers."""
    known = values[~np.isnan(values)]
    if not len(known) or (known != np.rint(known)).any():
        return None
    return next((scale for scale in SCALES if known.min() >= scale[0] and known.max() <= scale[1]), None)


def _mean(values: Floats, *, axis: int) -> Floats:
    mean = ratio(np.nansum(values, axis=axis), np.sum(~np.isnan(values), axis=axis))
    # Means that are equal on paper must be equal here, or ranks would order the noise of the last bit.
    return np.asarray(np.round(mean, 10))


def _places(wanted: Sequence[str], known: Sequence[str]) -> list[int]:
    place = _numbered(known)
    for name in wanted:
        if name not in place:
            raise UnknownName("system, item or rater", name, known, see="the ratings' own columns")
    return [place[name] for name in wanted]


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: at for at, name in enumerate(dict.fromkeys(names))}
