"""Ratings from public sets by name, files, data frames or a running study, and how tables of ratings are read.

A table has a row for each rating, or a row for each output with columns for raters, dimensions or means. Columns are
recognised by the names in columns.toml, or named by ``columns``. A cell that is empty, or has one of the words for
missing ratings there (n/a), is a missing rating and is counted. Any other cell that is not a number, repeats a rating
or lies outside the scale is an error that names the cell. Columns that are not read as ratings are reported.

Tables that the studio exported contain their scales and mark excluded raters. In its CSV files, text that a spreadsheet
would run as a formula has an apostrophe in front.
"""

import math
import pkgutil
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from plainly import data
from plainly.core.errors import BadInput, UnknownName
from plainly.core.files import read_shipped
from plainly.core.formatting import listed
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note
from plainly.core.settings import read_toml
from plainly.io.files import label, read_bytes, suffixes
from plainly.io.tables import SPREADSHEETS, Sheet, parse_csv, read_cells, read_table, table_format
from plainly.io.texts import sheet_of
from plainly.people.ratings import Judgements, Rating, Ratings, Scale, evident_scale

# Suffix → the module whose functions judgements(path) and export(path, form) read such a file, imported when needed.
READERS: dict[str, str] = {".toml": "plainly_studio"}

ROLES: dict[str, list[str]] = read_shipped(__file__, "columns.toml")
MISSING = frozenset(ROLES.pop("missing"))
_ROLE_NAMES = frozenset(alias for role, aliases in ROLES.items() if role != "rating" for alias in aliases)
ONE_SYSTEM = "outputs"
AVERAGED = "mean"

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
# Columns that together identify a table of the studio.
_STUDIO_COLUMNS = frozenset(
    {"item", "rater", "cannot_judge", "revision", "late", "overtime", "seconds", "at", "excluded"}
)
# simplicity_1, simplicity_rater2, rating 3, simplicity:alice
_WIDE = re.compile(r"(?P<dimension>.+?)[\s._:-]*(?:rater|annotator|worker|judge|rating)?[\s._:-]*(?P<rater>\d+)", re.I)
_NAMED = re.compile(r"(?P<dimension>[^:]+):(?P<rater>.+)")
# A public set's name, a file, a data frame, records (anything that ``plainly.score`` accepts), or Judgements.
RatingsLike: TypeAlias = Any

# The default dimension is the first of these that was rated.
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
    """Read ratings, of all systems or of these ``systems``; ``z_scores`` standardises each rater's ratings.

    A name without a suffix is a public set. A file is a table (CSV, TSV, JSONL, JSON, Parquet, .ods, .xlsx), with
    ``columns`` from roles to column names and a ``scale`` to check, or the TOML file of a studio project.
    """
    if isinstance(ratings, Judgements):
        judgements = ratings
    elif isinstance(ratings, Ratings):
        judgements = Judgements(ratings.dimension, ratings.systems, ratings.items, {ratings.dimension: ratings})
    elif not isinstance(ratings, (str, Path)):
        judgements = judgements_from(sheet_of(ratings), name="ratings", columns=columns, scale=scale)
    elif not Path(ratings).suffix:
        judgements = load(str(ratings), progress=progress)
    elif (suffix := suffixes(ratings)[0]) in READERS:
        if columns or scale:
            raise BadInput(f"{label(ratings)} defines its own columns and scales. Leave columns and scale out.")
        judgements = pkgutil.resolve_name(f"{READERS[suffix]}:judgements")(ratings)
        if suffix == ".toml" and Path(ratings).is_file():
            judgements = replace(judgements, test_set=_named_set(read_toml(ratings)))
    elif not Path(ratings).exists():
        raise BadInput(f"There is no file {ratings}. Check the name; public sets: plainly data list")
    else:
        judgements = judgements_from(read_rating_table(ratings), name=Path(ratings).name, columns=columns, scale=scale)
    if isinstance(ratings, (str, Path)):
        judgements = replace(judgements, file=str(ratings))
    if systems:
        judgements = judgements.of_systems(systems)
    if z_scores:
        judgements = replace(judgements, ratings={name: judgements[name].standardise() for name in judgements})
    return judgements


def read_studio_table(ratings: RatingsLike) -> Sheet | None:
    """Return the answers of a study or its export, including those of excluded raters; None for anything else."""
    if not isinstance(ratings, (str, Path)):
        return None
    if (suffix := suffixes(ratings)[0]) in READERS:
        text = pkgutil.resolve_name(f"{READERS[suffix]}:export")(ratings, "csv").decode("utf-8")
        return unescape_export(parse_csv(text, f"{ratings}.csv"))
    if table_format(ratings) is None or not Path(ratings).is_file():
        return None
    table = read_rating_table(ratings)
    return table if is_studio_export(table) else None


def with_excluded(judgements: Judgements) -> Judgements | None:
    """Return the ratings of a study or its export with those of excluded raters; None if there are none."""
    table = read_studio_table(judgements.file)
    if table is None or not any(map(is_true, table.columns["excluded"])):
        return None
    table = replace(table, columns={**table.columns, "excluded": [False] * len(table)})
    everyone = judgements_from(table, name=judgements.name).of_systems(judgements.systems)
    ratings = {
        name: rated if judgements[name].scale else rated.standardise()
        for name, rated in everyone.ratings.items()
        if name in judgements
    }
    return replace(everyone, ratings=ratings)


def _named_set(settings: Mapping[str, Any]) -> str:
    """Return the test set that a study's file names, or nothing."""
    section = settings.get("data")
    name = section.get("test_set") if isinstance(section, dict) else None
    return name if isinstance(name, str) else ""


def usual_dimension(judgements: Judgements) -> str:
    """Return simplicity, or else the first dimension."""
    return usual_name(judgements.dimensions)


def usual_name(dimensions: Sequence[str]) -> str:
    """Return the dimension that is meant where none is named: simplicity, or else the first."""
    return next((name for name in _USUAL if name in dimensions), dimensions[0])


def load(name: str, *, progress: Progress = no_progress) -> Judgements:
    """Load the public ratings of that name (see ``PUBLIC``), or those of a card of ratings (``plainly data list``)."""
    if name in PUBLIC:
        return PUBLIC[name](progress)
    cards = [card.name for card in data.cards() if card.kind == "ratings"]
    if name not in cards:
        raise UnknownName("set of ratings", name, [*PUBLIC, *cards], see="plainly data list")
    return _card(name, progress)


def read_rating_table(path: str | Path) -> Sheet:
    """Read the table of a file."""
    if suffixes(path)[0] in SPREADSHEETS:
        return sheet_table(read_cells(read_bytes(path), path), label(path))
    return unescape_export(read_table(path))


def judgements_from(
    table: Sheet, *, name: str, columns: Mapping[str, str] | None = None, scale: Scale | None = None
) -> Judgements:
    """Return the ratings and texts of a table."""
    if is_studio_export(table) and "rating" not in table.columns:
        raise BadInput(
            f"{table.path} has no ratings on a scale: people ranked outputs or marked operations. Their result: "
            f"plainly results {table.path}"
        )
    table = without_excluded(table)
    roles = find_roles(table, columns)
    by_row = list(iterate_ratings(table, roles))
    ratings = [rating for _, rating in by_row]
    if not any(rating.is_given for rating in ratings):
        raise BadInput(f"{table.path} has no ratings. {table.listing()}")
    scales = {rating.dimension: scale for rating in ratings} if scale else _exported_scales(table)
    systems, items = _systems(table, roles), read_texts_of(table, roles["item"])
    texts = {
        role: [str(cell) if _has_text(cell) else "" for cell in table.column(roles[role])]
        for role in ("source", "output", "type")
        if role in roles
    }
    references = _references(table, items)
    return Judgements.of(
        name,
        ratings,
        scales=scales,
        sources=dict(zip(items, texts.get("source", ()), strict=False)),
        outputs=dict(zip(zip(systems, items, strict=True), texts.get("output", ()), strict=False)),
        references={"given": references} if references else {},
        types=dict(zip(systems, texts.get("type", ()), strict=False)),
        remarks=(*remarks_on(table, roles), *_outside_scale(table, by_row, scales)),
    )


def _outside_scale(table: Sheet, by_row: Sequence[tuple[int, Rating]], scales: Mapping[str, Scale]) -> Iterator[Note]:
    """Raise where a rating lies outside the scale that was stated; warn where it lies far outside an evident one."""
    for dimension in dict.fromkeys(rating.dimension for _, rating in by_row):
        ratings = [(row, rating) for row, rating in by_row if rating.dimension == dimension and rating.is_given]
        scale = scales.get(dimension) or evident_scale([rating.value for _, rating in ratings])
        if scale is None:
            continue
        low, high = scale
        outside = [(row, rating) for row, rating in ratings if not low <= rating.value <= high]
        texts = [f"{table.where(row)}: {rating.value:g} by rater {rating.rater!r}" for row, rating in outside]
        if outside and dimension in scales:
            raise BadInput(
                f"{texts[0]} for item {outside[0][1].item!r} of {outside[0][1].system!r} is outside the scale of "
                f"{dimension}, {low:g}..{high:g}. Correct it, or leave the cell empty."
            )
        if outside:
            others = f"{len(ratings) - len(outside):,} other ratings of {dimension} are on the scale {low:g}..{high:g}"
            message = f"{listed(texts)}, but the {others}. Correct it, or state the scale that is right (--scale)."
            ids = tuple(dict.fromkeys(rating.item for _, rating in outside))
            yield Note(message, "warning", "outside-scale", where=dimension, ids=ids)


def remarks_on(table: Sheet, roles: Mapping[str, str]) -> tuple[Note, ...]:
    """Report what is not among the ratings of a table: cells without a rating, and columns without numbers."""
    if "rating" in roles:
        columns, others = [roles["rating"]], []
    else:
        columns = list(_rating_columns(table, roles, long=True))
        others = [name for name in _other_columns(table, roles) if name not in columns]
    remarks = []
    words = Counter(_text(cell) for name in columns for cell in table.column(name))
    if empty := {word: count for word, count in words.items() if word.casefold() in MISSING}:
        counts = ", ".join(f"{count:,} {repr(word) if word else 'empty'}" for word, count in empty.items())
        cells = f"{sum(empty.values()):,} of {sum(words.values()):,} cells"
        remarks.append(Note(f"{table.path}: {cells} hold no rating ({counts}); they count as not rated."))
    numbers = {name: sum(map(_is_number, table.column(name))) for name in others}
    if plain := [repr(name) for name, count in numbers.items() if not count]:
        remarks.append(Note(f"{table.path}: no ratings, because there are no numbers, in {listed(plain)}."))
    for name, count in numbers.items():
        if count:
            message = (
                f"{table.path}: column {name!r} is not read as ratings, because only {count:,} of its {len(table):,} "
                "cells are numbers. Correct the others, or remove the column."
            )
            remarks.append(Note(message, kind="warning", code="not-ratings", where=name))
    return tuple(remarks)


def find_roles(table: Sheet, columns: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the column of each role, by the names that studies use and by ``columns``."""
    for role, column in (columns or {}).items():
        if role not in ROLES:
            raise BadInput(f"A table of ratings has no role {role!r}. Its roles: {', '.join(ROLES)}")
        table.column(column)
    by_key = {column_key(name): name for name in table.columns}
    roles = {role: by_key[alias] for role, aliases in ROLES.items() for alias in reversed(aliases) if alias in by_key}
    roles |= columns or {}
    if "item" not in roles:
        raise BadInput(f"{table.path} has no column of items. {table.listing()} Name it: --columns item=COLUMN")
    return roles


def column_key(name: str) -> str:
    """Return the name of a column without differences that do not matter."""
    return name.strip().casefold().replace(" ", "_")


def iterate_ratings(table: Sheet, roles: Mapping[str, str]) -> Iterator[tuple[int, Rating]]:
    """Yield every rating of a table with its row; an empty cell is a missing rating, NaN."""
    items, systems = read_texts_of(table, roles["item"]), _systems(table, roles)
    raters = read_texts_of(table, roles["rater"]) if "rater" in roles else None
    dimensions = ["rating"] * len(table)
    if "rating" not in roles:
        columns = _rating_columns(table, roles, long=raters is not None)
    else:
        columns = {roles["rating"]: ("", AVERAGED)}
        dimensions = read_texts_of(table, roles["dimension"]) if "dimension" in roles else dimensions
    keys: set[tuple[str, str, str, str]] = set()
    for column, (dimension, rater) in columns.items():
        for row in range(len(table)):
            value = _number(table, row, column)
            key = (systems[row], items[row], raters[row] if raters else rater, dimension or dimensions[row])
            if key in keys:
                raise BadInput(
                    f"{table.where(row)}: rater {key[2]!r} rated item {key[1]!r} of {key[0]!r} on {key[3]!r} twice. "
                    "Keep one of the rows, or name the columns that tell them apart (--columns system=… item=… "
                    "rater=…)."
                )
            keys.add(key)
            yield row, Rating(*key, value)


class MetricColumns(NamedTuple):
    """A table of metric scores: the row of each system and item, and every column of numbers under its own name."""

    rows: dict[tuple[str, str], int]
    columns: dict[str, list[float]]
    remarks: tuple[Note, ...]  # on columns without numbers


def read_score_table(path: str | Path) -> MetricColumns:
    """Read scores of outputs; columns of texts and groups are left out."""
    table = read_rating_table(path)
    roles = find_roles(table)
    others = {roles[role] for role in ("system", "item", "source", "output", "type") if role in roles} | {"group"}
    rows: dict[tuple[str, str], int] = {}
    for row, (system, item) in enumerate(zip(_systems(table, roles), read_texts_of(table, roles["item"]), strict=True)):
        if (first := rows.setdefault((system, item), row)) != row:
            raise BadInput(
                f"{table.where(row)}: item {item!r} of {system!r} has scores already, in {table.where(first)}. Keep "
                "one of the rows."
            )
    scores, without = {}, []
    for name in table.columns:
        if name in others or name.strip().casefold().startswith("reference"):
            continue
        if any(map(_is_number, table.column(name))):
            scores[name] = [_number(table, row, name) for row in range(len(table))]
        else:
            without.append(repr(name))
    notes = [Note(f"{table.path}: no scores, because there are no numbers, in {listed(without)}.")] if without else []
    return MetricColumns(rows, scores, tuple(notes))


def _number(table: Sheet, row: int, column: str) -> float:
    """Return a cell as a number, NaN if it is missing; raise if it is anything else."""
    cell = table.column(column)[row]
    if _is_missing(cell):
        return math.nan
    if not _is_number(cell):
        where = f"{table.where(row)}, column {column!r}"
        raise BadInput(f"{where}: {cell!r} is not a number. Leave the cell empty if there is none.")
    return float(cell)


def sheet_table(rows: Sequence[Sequence[object]], path: str) -> Sheet:
    """Convert a sheet, whose first row names the columns. Two rows of names are read as ``dimension:rater``."""
    numbers = [number for number, row in enumerate(rows, 1) if any(map(_has_text, row))]
    if len(numbers) < 2:
        raise BadInput(f"{path} has no rows below the column names.")
    head, *body = zip(*zip_longest(*(rows[number - 1] for number in numbers)), strict=True)
    names = list(map(_text, head))
    has_second = any(not name and _has_text(cell) for name, cell in zip(names, body[0], strict=True))
    if has_second and not any(map(_is_number, body[0])):
        # Each rater is named above the first of its columns, the dimensions below.
        raters: Iterator[str] = accumulate(names, lambda previous, name: name or previous)
        second = zip(names, raters, map(_text, body.pop(0)), strict=True)
        names = [f"{dimension}:{rater}" if dimension else name for name, rater, dimension in second]
    columns = {name: [row[index] for row in body] for index, name in enumerate(names) if name}
    if len(columns) < sum(map(bool, names)):
        raise BadInput(f"{path} has two columns with the same name: {', '.join(filter(None, names))}. Rename one.")
    return Sheet(columns, path, numbers[len(numbers) - len(body) :], "row")


def _systems(table: Sheet, roles: Mapping[str, str]) -> list[str]:
    return read_texts_of(table, roles["system"]) if "system" in roles else [ONE_SYSTEM] * len(table)


def _other_columns(table: Sheet, roles: Mapping[str, str]) -> list[str]:
    """Return the columns without a role."""
    return [
        name
        for name in table.columns
        if (key := column_key(name)) not in _ROLE_NAMES
        and not key.startswith("reference")
        and name not in roles.values()
    ]


def _rating_columns(table: Sheet, roles: Mapping[str, str], *, long: bool) -> dict[str, tuple[str, str]]:
    """Return (dimension, rater) by column, for columns without another role in which most cells are numbers."""
    cells = {
        name: [cell for cell in table.columns[name] if not _is_missing(cell)] for name in _other_columns(table, roles)
    }
    numeric = [name for name in cells if cells[name] and 2 * sum(map(_is_number, cells[name])) >= len(cells[name])]
    if not numeric:
        raise BadInput(
            f"{table.path} has no column of ratings. {table.listing()} Name it: --columns rating=COLUMN, or use a "
            "column of numbers for each dimension or rater. Choices between two systems have the columns item, first, "
            "second and winner, and are read by plainly results."
        )
    if long:
        return {name: (name, AVERAGED) for name in numeric}
    matches = {name: _NAMED.fullmatch(name) or _WIDE.fullmatch(name) for name in numeric}
    dimensions = [match["dimension"] for match in matches.values() if match]
    return {
        name: (match["dimension"].strip(), match["rater"].strip())
        if match and (":" in name or dimensions.count(match["dimension"]) > 1)
        else (name, AVERAGED)
        for name, match in matches.items()
    }


def _references(table: Sheet, items: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return references from columns whose names begin with ``reference``: a text each, or a list of texts."""
    columns = [cells for name, cells in table.columns.items() if name.strip().casefold().startswith("reference")]
    references: dict[str, tuple[str, ...]] = {}
    for row, item in enumerate(items):
        texts: list[object] = []
        for cell in (cells[row] for cells in columns):
            texts += filter(_has_text, cell if isinstance(cell, list) else [cell])
        if texts:
            references.setdefault(item, tuple(map(str, texts)))
    return references


def read_texts_of(table: Sheet, column: str) -> list[str]:
    """Return the cells of a column as texts; raise if one is empty."""
    texts = []
    for row, cell in enumerate(table.column(column)):
        if not _has_text(cell):
            raise BadInput(f"{table.where(row)}: column {column!r} is empty. Fill it in or remove the row.")
        # A sheet stores the item 3 as 3.0.
        texts.append(str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip())
    return texts


def _text(cell: object) -> str:
    return str(cell).strip() if _has_text(cell) else ""


def _is_missing(cell: object) -> bool:
    return _text(cell).casefold() in MISSING


def _is_number(cell: object) -> bool:
    if isinstance(cell, bool) or not _has_text(cell):
        return False
    try:
        return math.isfinite(float(cell))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _has_text(cell: object) -> bool:
    try:
        is_nan = bool(cell != cell)
    except TypeError:  # pandas.NA equals nothing, not even itself, and says so in this way
        is_nan = True
    return not (cell is None or is_nan or (isinstance(cell, str) and not cell.strip()))


def is_formula(value: object) -> bool:
    """Return whether a spreadsheet would read a text as a formula, ignoring apostrophes before it."""
    return isinstance(value, str) and value.lstrip("'").startswith(_FORMULA)


def escape_formula(value: Any) -> Any:
    """Return a cell for an exported CSV file that no spreadsheet runs as a formula."""
    return f"'{value}" if is_formula(value) else value


def unescape_formula(value: Any) -> Any:
    """Return the value of a cell of an exported CSV file."""
    return value[1:] if is_formula(value) and value.startswith("'") else value


def is_studio_export(table: Sheet) -> bool:
    return set(table.columns) >= _STUDIO_COLUMNS


def unescape_export(table: Sheet) -> Sheet:
    """Return a table of the studio with its original texts; any other table unchanged."""
    if not is_studio_export(table) or not table.path.partition("?")[0].endswith((".csv", ".tsv", ".csv.gz")):
        return table
    return replace(table, columns={name: list(map(unescape_formula, cells)) for name, cells in table.columns.items()})


def is_true(cell: object) -> bool:
    """Return whether a cell means yes, in any of the formats."""
    return cell is True or str(cell).strip().lower() in ("true", "1", "yes")


def without_excluded(table: Sheet) -> Sheet:
    """Return a table of the studio without the rows of excluded raters; any other table unchanged."""
    if not is_studio_export(table):
        return table
    return table.select([row for row, cell in enumerate(table.columns["excluded"]) if not is_true(cell)])


def _exported_scales(table: Sheet) -> dict[str, Scale]:
    """Return the scale of each dimension, where the table contains it."""
    if not is_studio_export(table) or not {"dimension", "minimum", "maximum"} <= set(table.columns):
        return {}
    rows = zip(*(table.columns[name] for name in ("dimension", "minimum", "maximum")), strict=True)
    return {str(name): (float(str(low)), float(str(high))) for name, low, high in rows}


def _simplicity_da(progress: Progress) -> Judgements:
    """Load Alva-Manchego et al. 2021: simplicity by rater, fluency and meaning as averages, all as z-scores too."""
    sets = {"asset": "asset/test", "turkcorpus": "turkcorpus/test", "hsplit": "hsplit/test"}
    return _with_references(_by_rater_or_averaged("simplicity-da", progress), sets, progress, join="all")


def _by_rater_or_averaged(family: str, progress: Progress) -> Judgements:
    """Load each dimension by rater where that is published, else its averages."""
    means, by_rater = _card(f"{family}/averages", progress), _card(f"{family}/ratings", progress)
    others = replace(means, ratings={name: means[name] for name in means if name not in by_rater})
    return Judgements.combine(family, by_rater, others)


def _acl2018(progress: Progress) -> Judgements:
    """Load Sulem et al. 2018: 28 systems and the four HSplit annotations on 70 sentences, with their outputs."""
    judgements = Judgements.combine("acl2018", _card("acl2018/ratings", progress), _card("hsplit/ratings", progress))
    split = data.load("hsplit/first70", progress=progress)
    gem = data.load("turkcorpus/test-gem", progress=progress)
    simple = data.load("turkcorpus/test-simplewiki", progress=progress)
    published = set(data.system_names("hsplit/first70"))
    names = [name for name in judgements.systems if name in published]
    texts: dict[str, Sequence[str]] = {
        **data.outputs_of("hsplit/first70", names, progress=progress),
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
    judgements = judgements_from(data.table(name, progress=progress), name=name)
    return replace(judgements, language=data.card(name).language)


def _with_references(judgements: Judgements, sets: Mapping[str, str], progress: Progress, join: str = "") -> Judgements:
    references: dict[str, dict[str, tuple[str, ...]]] = {join: dict.fromkeys(judgements.items, ())} if join else {}
    for name, card in sets.items():
        texts = data.load(card, progress=progress).references
        references[name] = {item: texts[int(item) - 1] for item in judgements.items}
        if join:
            references[join] = {item: references[join][item] + references[name][item] for item in judgements.items}
    return replace(judgements, references=references)


PUBLIC: dict[str, Callable[[Progress], Judgements]] = {
    "simplicity-da": _simplicity_da,
    "acl2018": _acl2018,
    "structural-simplicity": partial(_by_rater_or_averaged, "structural-simplicity"),
}
