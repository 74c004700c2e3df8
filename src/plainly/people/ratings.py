"""The types of ratings: system × item × rater for one dimension, and several dimensions of the same outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, UnknownName
from plainly.core.formatting import count_noun
from plainly.core.result import Note, Record
from plainly.core.sampling import Sampling
from plainly.stats.resample import Floats, ratio

Ints = npt.NDArray[np.int64]
Scale = tuple[float, float]

# With at least this many items, 93 % of 95 % intervals of agreement or more cover: bench/simulations.py.
FEW_ITEMS = 30
# Common scales, narrowest first: the guess is the first that contains all ratings.
SCALES: tuple[Scale, ...] = ((-2, 2), (1, 3), (1, 5), (0, 10), (0, 100))


class Rating(NamedTuple):
    """One rater's rating of one output on one dimension; NaN if it is missing."""

    system: str
    item: str
    rater: str
    dimension: str
    value: float

    @property
    def is_given(self) -> bool:
        return self.value == self.value


@dataclass(frozen=True)
class Ratings:
    """One dimension (simplicity, fluency …) of outputs: ``values[system, item, rater]``, NaN where not rated."""

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
        """The number of ratings of each output: (systems, items)."""
        return np.asarray(np.sum(~np.isnan(self.values), axis=2))

    @cached_property
    def means(self) -> Floats:
        """The mean rating of each output, (systems, items); NaN where not rated."""
        return _mean(self.values, axis=2)

    @cached_property
    def system_means(self) -> Floats:
        """The mean of each system's output means."""
        return _mean(self.means, axis=1)

    @cached_property
    def paired(self) -> npt.NDArray[np.bool_]:
        """Which items were rated for every system."""
        return np.asarray(np.all(self.counts > 0, axis=0))

    def matrix(self) -> Floats:
        """Return ratings as outputs × raters, without outputs and raters that have none."""
        rows = self.values[np.nonzero(self.counts)]
        return rows[:, ~np.isnan(rows).all(axis=0)]

    def count_raters(self) -> int:
        """Return how many raters gave a rating."""
        return int((self.counts_by_rater > 0).sum())

    @property
    def counts_by_rater(self) -> Ints:
        return np.asarray((~np.isnan(self.values)).sum(axis=(0, 1)))

    def units(self) -> Units:
        return Units(self.systems, self.items, *np.nonzero(self.counts))

    def standardise(self) -> Ratings:
        """Return z-scores by rater: mean 0 and standard deviation 1, so that strictness cancels."""
        flat = self.values.reshape(-1, len(self.raters))
        count = np.sum(~np.isnan(flat), axis=0)
        mean = ratio(np.nansum(flat, axis=0), count)
        spread = np.sqrt(ratio(np.nansum((flat - mean) ** 2, axis=0), count))
        spread = np.where(spread > 1e-12, spread, np.nan)  # Constant ratings have no z-scores.
        return replace(self, values=(self.values - mean) / spread, scale=None)

    def of_systems(self, systems: Sequence[str]) -> Ratings:
        return replace(self, systems=tuple(systems), values=self.values[_find_indices(systems, self.systems)])


@dataclass(frozen=True)
class Units:
    """Some outputs: for each, the index of its system and of its item."""

    systems: tuple[str, ...]
    items: tuple[str, ...]
    system: npt.NDArray[np.intp]
    item: npt.NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.system)

    def __getitem__(self, mask: npt.NDArray[np.bool_]) -> Units:
        return replace(self, system=self.system[mask], item=self.item[mask])

    @property
    def system_names(self) -> list[str]:
        return [self.systems[index] for index in self.system]

    @property
    def item_names(self) -> list[str]:
        return [self.items[index] for index in self.item]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(zip(self.system_names, self.item_names, strict=True))


@dataclass(frozen=True)
class Judgements:
    """Several dimensions of the same outputs, with their texts if available: ``judgements["simplicity"]``."""

    name: str
    systems: tuple[str, ...]
    items: tuple[str, ...]
    ratings: Mapping[str, Ratings]
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    outputs: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)
    references: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict, repr=False)
    types: Mapping[str, str] = field(default_factory=dict, repr=False)
    remarks: tuple[Note, ...] = field(default=(), repr=False)  # on cells and columns without ratings
    language: str = ""  # of the texts, if known
    test_set: str = ""  # that the texts are from, if a study names one
    file: str = ""  # that they were read from

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
        """Return the mean rating of each unit; NaN where it was not rated on this dimension."""
        return self[dimension].means[units.system, units.item]

    def summary(self, sampling: Sampling) -> Record:
        """Describe the ratings: the start of every result's JSON, schema plainly.meta/1."""
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
        """Warn if there are so few items that intervals of agreement are too narrow: see docs/statistics.md."""
        if len(self.items) >= FEW_ITEMS:
            return []
        message = (
            f"Ratings are of only {count_noun(len(self.items), 'item')}. Intervals of agreement over so few items are "
            "too narrow: in simulations, 95 % intervals cover in 91 to 94 % of cases with 12 items."
        )
        return [Note(message, "warning", "few-items")]

    @staticmethod
    def of(
        name: str, ratings: Sequence[Rating], *, scales: Mapping[str, Scale] = MappingProxyType({}), **texts: Any
    ) -> Judgements:
        """Collect single ratings, with systems, items and raters in order of appearance; unknown scales are guessed.

        ``texts`` are the further fields: sources, outputs, references, types, remarks.
        """
        by_dimension: dict[str, list[Rating]] = {}
        for rating in ratings:
            by_dimension.setdefault(rating.dimension, []).append(rating)
        systems = _indices(rating.system for rating in ratings)
        items = _indices(rating.item for rating in ratings)
        dimensions = {}
        for dimension, rows in by_dimension.items():
            raters = _indices(rating.rater for rating in rows)
            values = np.full((len(systems), len(items), len(raters)), np.nan)
            for rating in rows:
                values[systems[rating.system], items[rating.item], raters[rating.rater]] = rating.value
            scale = scales.get(dimension) or guess_scale(values)
            dimensions[dimension] = Ratings(dimension, tuple(systems), tuple(items), tuple(raters), values, scale)
        return Judgements(name, tuple(systems), tuple(items), dimensions, **texts)

    @staticmethod
    def combine(name: str, *parts: Judgements) -> Judgements:
        """Combine judgements of different systems or dimensions."""
        systems = tuple(dict.fromkeys(system for part in parts for system in part.systems))
        items = tuple(dict.fromkeys(item for part in parts for item in part.items))
        ratings: dict[str, Ratings] = {}
        for dimension in dict.fromkeys(dimension for part in parts for dimension in part):
            tables = [part[dimension] for part in parts if dimension in part]
            raters = tuple(dict.fromkeys(rater for table in tables for rater in table.raters))
            values = np.full((len(systems), len(items), len(raters)), np.nan)
            for table in tables:
                axes = ((table.systems, systems), (table.items, items), (table.raters, raters))
                cells = np.ix_(*(_find_indices(names, axis) for names, axis in axes))
                values[cells] = np.where(np.isnan(table.values), values[cells], table.values)
            scales = {table.scale for table in tables}
            scale = scales.pop() if len(scales) == 1 else None
            ratings[dimension] = Ratings(dimension, systems, items, raters, values, scale)
        kinds = dict.fromkeys(kind for part in parts for kind in part.references)
        return Judgements(
            name,
            systems,
            items,
            ratings,
            sources={item: text for part in parts for item, text in part.sources.items()},
            outputs={pair: text for part in parts for pair, text in part.outputs.items()},
            references={
                kind: {item: texts for part in parts for item, texts in part.references.get(kind, {}).items()}
                for kind in kinds
            },
            types={system: kind for part in parts for system, kind in part.types.items()},
            remarks=tuple(remark for part in parts for remark in part.remarks),
        )


def guess_scale(values: Floats) -> Scale | None:
    """Return the narrowest common scale that contains all ratings, or None if they are not whole numbers."""
    ratings = values[~np.isnan(values)]
    if not len(ratings) or (ratings != np.rint(ratings)).any():
        return None
    return next((scale for scale in SCALES if ratings.min() >= scale[0] and ratings.max() <= scale[1]), None)


def evident_scale(values: Sequence[float]) -> Scale | None:
    """Return the common scale that nearly all ratings are on, if the others lie further off than the scale is wide."""
    ratings = np.array(values)
    for low, high in SCALES:
        inside = (ratings >= low) & (ratings <= high)
        far = (ratings < 2 * low - high) | (ratings > 2 * high - low)
        # One, or one in fifty, is a slip of the keyboard; more may be another scale.
        if inside.sum() >= 10 and (inside | far).all() and 1 <= far.sum() <= max(1, inside.sum() / 50):
            return guess_scale(ratings[inside])
    return None


def _mean(values: Floats, *, axis: int) -> Floats:
    mean = ratio(np.nansum(values, axis=axis), np.sum(~np.isnan(values), axis=axis))
    # Equal means must be equal despite rounding errors, or ranks would order noise.
    return np.asarray(np.round(mean, 10))


def _find_indices(names: Sequence[str], axis: Sequence[str]) -> list[int]:
    indices = _indices(axis)
    for name in names:
        if name not in indices:
            raise UnknownName("system, item or rater", name, axis, see="the columns of the ratings")
    return [indices[name] for name in names]


def _indices(names: Iterable[str]) -> dict[str, int]:
    return {name: index for index, name in enumerate(dict.fromkeys(names))}
