"""Ratings from whatever names or holds them: one way in for every function and command that asks about people."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from plainly.core.errors import BadInput
from plainly.core.progress import Progress, no_progress
from plainly.io.texts import sheet_of
from plainly.people.public_sets import load
from plainly.people.rating_tables import READERS, judgements_of, read_ratings
from plainly.people.ratings import Judgements, Ratings, Scale

# A public set's name, a file, a data frame or records (whatever ``plainly.score`` takes), or what was read already.
RatingsLike: TypeAlias = Any

# What is meant where no dimension is named, if it was rated.
_USUAL = ("simplicity", "structural_simplicity", "rating")


def take(
    ratings: RatingsLike,
    *,
    columns: Mapping[str, str] | None = None,
    scale: Scale | None = None,
    systems: Sequence[str] = (),
    z_scores: bool = False,
    progress: Progress = no_progress,
) -> Judgements:
    """The judgements that were named or handed over; of some systems only, and standardised by rater, if asked."""
    judgements = _judgements(ratings, progress, columns=columns, scale=scale)
    if systems:
        judgements = judgements.of_systems(systems)
    if z_scores:
        judgements = replace(judgements, ratings={name: judgements[name].standardised() for name in judgements})
    return judgements


def usual_dimension(judgements: Judgements) -> str:
    """Simplicity, or else the first dimension there is."""
    return next((name for name in _USUAL if name in judgements), judgements.dimensions[0])


def _judgements(ratings: RatingsLike, progress: Progress, **reading: Any) -> Judgements:
    if isinstance(ratings, Judgements):
        return ratings
    if isinstance(ratings, Ratings):
        return Judgements(ratings.dimension, ratings.systems, ratings.items, {ratings.dimension: ratings})
    if not isinstance(ratings, (str, Path)):
        return judgements_of(sheet_of(ratings), name="ratings", **reading)
    path = Path(ratings)
    if not path.suffix:
        return load(str(ratings), progress=progress)
    if not path.exists() and path.suffix not in READERS:  # an imported study has a database and no file of its own
        raise BadInput(f"There is no file {ratings}. Check the name; public sets: plainly data list")
    return read_ratings(path, **reading)
