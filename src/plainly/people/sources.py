"""Ratings from any source: the public sets by name, a file, a data frame, a running study, or ratings already read."""

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from plainly import data
from plainly.core.errors import BadInput, UnknownName
from plainly.core.progress import Progress, no_progress
from plainly.io.files import label, suffixes
from plainly.io.texts import sheet_of
from plainly.people.rating_tables import READERS, judgements_of, table_of
from plainly.people.ratings import Judgements, Ratings, Scale

# A public set's name, a file, a data frame or records (whatever ``plainly.score`` takes), or ratings already read.
RatingsLike: TypeAlias = Any

# Without a named dimension, the first of these that was rated.
_USUAL = ("simplicity", "structural_simplicity", "rating")


def read_ratings(
    ratings: RatingsLike,
    *,
    columns: Mapping[str, str] | None = None,
    scale: Scale | None = None,
    systems: Sequence[str] = (),
    z_scores: bool = False,
    progress: Progress = no_progress,
) -> Judgements:
    """Read ratings; keep only some ``systems``, and standardise each rater's ratings, if requested.

    A name without a suffix is a public set. A file is a table (CSV, TSV, JSONL, JSON, Parquet, .ods, .xlsx), with
    ``columns`` from roles to column names and a ``scale`` to check, or the TOML file of a studio project.
    """
    if isinstance(ratings, Judgements):
        judgements = ratings
    elif isinstance(ratings, Ratings):
        judgements = Judgements(ratings.dimension, ratings.systems, ratings.items, {ratings.dimension: ratings})
    elif not isinstance(ratings, (str, Path)):
        judgements = judgements_of(sheet_of(ratings), name="ratings", columns=columns, scale=scale)
    elif not Path(ratings).suffix:
        judgements = load(str(ratings), progress=progress)
    elif (suffix := suffixes(ratings)[0]) in READERS:
        if columns or scale:
            raise BadInput(f"{label(ratings)} defines its own columns and scales. Leave columns and scale out.")
        judgements = pkgutil.resolve_name(f"{READERS[suffix]}:judgements")(ratings)
    elif not Path(ratings).exists():
        raise BadInput(f"There is no file {ratings}. Check the name; public sets: plainly data list")
    else:
        judgements = judgements_of(table_of(ratings), name=Path(ratings).name, columns=columns, scale=scale)
    if systems:
        judgements = judgements.of_systems(systems)
    if z_scores:
        judgements = replace(judgements, ratings={name: judgements[name].standardised() for name in judgements})
    return judgements


def usual_dimension(judgements: Judgements) -> str:
    """Simplicity, or else the first dimension there is."""
    return next((name for name in _USUAL if name in judgements), judgements.dimensions[0])


def load(name: str, *, progress: Progress = no_progress) -> Judgements:
    """The public ratings of that name (see ``PUBLIC``), or those of any card of ratings (see ``plainly data list``)."""
    if name in PUBLIC:
        return PUBLIC[name](progress)
    cards = [card.name for card in data.cards() if card.kind == "ratings"]
    if name not in cards:
        raise UnknownName("set of ratings", name, [*PUBLIC, *cards], see="plainly data list")
    return _card(name, progress)


def _simplicity_da(progress: Progress) -> Judgements:
    """Alva-Manchego et al. 2021: simplicity by rater, fluency and meaning as averages, all as z-scores too."""
    sets = {"asset": "asset/test", "turkcorpus": "turkcorpus/test", "hsplit": "hsplit/test"}
    return _with_references(_by_rater_or_averaged("simplicity-da", progress), sets, progress, join="all")


def _by_rater_or_averaged(family: str, progress: Progress) -> Judgements:
    """Each dimension by rater where those are published, else its averages."""
    means = _card(f"{family}/averages", progress)
    by_rater = _card(f"{family}/ratings", progress)
    averaged = replace(means, ratings={name: means[name] for name in means if name not in by_rater})
    return Judgements.together(family, by_rater, averaged)


def _acl2018(progress: Progress) -> Judgements:
    """Sulem et al. 2018: 28 systems and the four HSplit annotations on 70 sentences, with what they wrote."""
    judgements = Judgements.together("acl2018", _card("acl2018/ratings", progress), _card("hsplit/ratings", progress))
    split = data.load("hsplit/first70", progress=progress)
    gem = data.load("turkcorpus/test-gem", progress=progress)
    simple = data.load("turkcorpus/test-simplewiki", progress=progress)
    published = set(data.system_names("hsplit/first70"))
    among = [name for name in judgements.systems if name in published]
    texts: dict[str, Sequence[str]] = {
        **data.outputs_of("hsplit/first70", among, progress=progress),
        **{f"HSplit{number + 1}": [row[number] for row in split.references] for number in range(4)},
        "Identity": gem.sources,
        "SBMT-SARI": data.outputs("turkcorpus/test-legacy", "xu/SBMT-SARI", progress=progress),
        "Simple Wikipedia": [row[0] for row in simple.references],
    }
    judgements = replace(
        judgements,
        sources={item: gem.sources[int(item) - 1] for item in judgements.items},
        outputs={
            (system, item): lines[int(item) - 1]
            for system, lines in texts.items()
            if system in judgements.systems
            for item in judgements.items
        },
        types={system: _acl_type(system) for system in judgements.systems},
    )
    return _with_references(judgements, {"turkcorpus": "turkcorpus/test-gem", "hsplit": "hsplit/test"}, progress)


def _acl_type(system: str) -> str:
    if system.startswith("HSplit") or system == "Simple Wikipedia":
        return "human"
    if system == "Identity":
        return "copy"
    return "neural" if "NTS" in system else "statistical or rules"


def _card(name: str, progress: Progress) -> Judgements:
    judgements = judgements_of(data.table(name, progress=progress), name=name)
    return replace(judgements, language=data.card(name).language)


def _with_references(judgements: Judgements, sets: Mapping[str, str], progress: Progress, join: str = "") -> Judgements:
    evalsets = {name: data.load(card, progress=progress) for name, card in sets.items()}
    references = {
        name: {item: evalset.references[int(item) - 1] for item in judgements.items}
        for name, evalset in evalsets.items()
    }
    if join:
        joined = {item: tuple(text for of in references.values() for text in of[item]) for item in judgements.items}
        references = {join: joined, **references}
    return replace(judgements, references=references)


PUBLIC: dict[str, Callable[[Progress], Judgements]] = {
    "simplicity-da": _simplicity_da,
    "acl2018": _acl2018,
    "structural-simplicity": partial(_by_rater_or_averaged, "structural-simplicity"),
}
