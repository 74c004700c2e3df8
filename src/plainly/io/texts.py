"""The texts that a caller passes, in any of their shapes, as one value: ``Texts``.

Every public function reads its texts here: lists and mappings of texts, an evaluation set, a data frame (pandas,
polars), an Arrow table, a Hugging Face data set, a list of records or a mapping of columns. Frames may be wide (one
column per system) or long (a column ``system``).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from plainly.core.errors import BadInput, check_choice
from plainly.core.evalset import ABSENT, Absent, EvalSet
from plainly.core.formatting import counted
from plainly.core.result import Note
from plainly.io.columns import Columns, find_roles, missing, names
from plainly.io.consistency import check_references
from plainly.io.evalsets import read_evalset, read_outputs
from plainly.io.tables import Sheet
from plainly.text.languages import detection

if TYPE_CHECKING:
    from plainly.io.units import Unit

Outputs = Mapping[str, Sequence[str]]
Incomplete = Literal["refuse", "empty", "skip"]
_SYSTEM = "system"
_FRAME = "the data frame"
_DETECTION_SAMPLE = 500  # texts from which a language is detected


@dataclass(frozen=True)
class Texts:
    """An evaluation set and the outputs of systems for it; an item that a system does not have is ``ABSENT`` there."""

    evalset: EvalSet
    outputs: Outputs
    notes: tuple[Note, ...] = ()  # how columns were interpreted, and what is missing

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.outputs)

    @property
    def has_references(self) -> bool:
        return self.evalset.has_references

    @property
    def language(self) -> str:
        return self.evalset.language


def read_texts(
    data: Any = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | Outputs | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    ids: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    columns: Columns | None = None,
    language: str | None = None,
    incomplete: Incomplete = "refuse",
    unit: "Unit | None" = None,
) -> Texts:
    """Check what a caller passed and return it as ``Texts``; every public function that takes texts calls this.

    ``data`` is an evaluation set, a frame, or texts that were read before. One list of outputs without a name is the
    system "". ``columns`` assigns roles to the columns of a frame whose names do not tell: ``{"source": "complex"}``.
    ``language`` is a code ("de"), or "auto" to detect it. ``incomplete`` says what happens to items for which a system
    has no output (None in a list, or an id missing from a frame): an error, an empty output, or "skip", which scores
    the system on the items that it has. ``unit`` joins or divides the texts into documents, paragraphs or sentences.
    """
    check_choice("incomplete", incomplete, get_args(Incomplete))
    if isinstance(data, EvalSet):
        evalset, data = data, None
    if data is not None and (sources is not None or references is not None):
        raise BadInput("Pass either data that contains the texts, or sources= and references=, not both.")
    if isinstance(data, Texts):
        texts = data
    elif data is not None:
        texts = _from_sheet(widened(sheet_of(data), columns), evalset, outputs, columns, incomplete)
    else:
        texts = _from_lists(sources, outputs, references, evalset, ids, groups, incomplete)
    if unit is not None:
        from plainly.io.units import with_unit

        texts = with_unit(texts, unit)
    return with_language(texts, language) if language is not None or texts is not data else texts


def with_language(texts: Texts, language: str | None) -> Texts:
    """The texts with their language: the one passed, the one on the card of the set, or the detected one ("auto")."""
    evalset, origin = texts.evalset, "as specified"
    if language is None:
        language, origin = evalset.language, f"according to the card of {evalset.name}" if evalset.name else origin
        if language in ("", "en"):  # unknown, or what everything is made for
            return texts
    elif language == "auto":
        lines = evalset.sources if evalset.has_sources else next(iter(texts.outputs.values()), ())
        language, origin = detection.tally(lines[:_DETECTION_SAMPLE])[1] or "", "detected from the texts"
        if not language:
            raise BadInput(
                "Could not detect the language of these texts: there are too few, or they are mixed. Pass language=."
            )
    detection.check(language)
    note = Note(f"The texts are {detection.named(language)} ({language}), {origin}.")
    return replace(texts, evalset=replace(evalset, language=language), notes=(*texts.notes, note))


def _from_lists(
    sources: Sequence[str] | None,
    outputs: Sequence[str] | Outputs | None,
    references: Sequence[Sequence[str]] | None,
    evalset: EvalSet | None,
    ids: Sequence[Any] | None,
    groups: Sequence[Any] | None,
    incomplete: Incomplete,
) -> Texts:
    if evalset is not None and not isinstance(evalset, EvalSet):
        raise BadInput(f"evalset= is an evaluation set (plainly.load, plainly.EvalSet.of), not {evalset!r:.60}.")
    if outputs is None:
        raise BadInput("No outputs were given: outputs=[…] or outputs={'A': […], 'B': […]}.")
    if isinstance(outputs, str):
        raise BadInput("outputs is a list of texts (or a mapping from system to such a list), not one text.")
    systems: Outputs = outputs if isinstance(outputs, Mapping) else {"": outputs}
    if not systems:
        raise BadInput("No outputs were given.")
    systems = {
        str(name): _strings(lines, f"outputs[{name!r}]" if name else "outputs", incomplete)
        for name, lines in systems.items()
    }
    notes = absence_notes(systems)
    if evalset is not None:
        if sources is not None or references is not None:
            raise BadInput("Pass either an evaluation set or sources= and references=, not both.")
        return Texts(evalset, systems, notes)
    sources = None if sources is None else _strings(sources, "sources")
    n = len(sources) if sources is not None else len(next(iter(systems.values())))
    if references is not None and (isinstance(references, (str, bytes)) or not hasattr(references, "__len__")):
        raise BadInput(f"references is a list with the references of each item, not {type(references).__name__}.")
    checked = check_references(references, n, sources=sources) if references is not None else None
    for name, values in (("ids", ids), ("groups", groups)):
        if values is not None and (isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__")):
            raise BadInput(f"{name}= is a list with one value for each item, not {type(values).__name__}.")
    return Texts(EvalSet.of(sources, references=checked, groups=groups, ids=ids, items=n), systems, notes)


def absence_notes(outputs: Outputs) -> tuple[Note, ...]:
    """A warning for each system that did not write something for every item and is scored on what it has."""
    lacking = {system: sum(isinstance(text, Absent) for text in texts) for system, texts in outputs.items()}
    return tuple(
        Note(
            f"{system or 'The system'} has no output for {counted(count, 'item')} of {len(outputs[system])}; it is "
            f"scored on the other {len(outputs[system]) - count}.",
            "warning",
            "missing-outputs",
            where=system,
        )
        for system, count in lacking.items()
        if count
    )


def empty_notes(empty: Mapping[str, int], items: int) -> tuple[Note, ...]:
    """A warning for each system whose missing outputs are scored as empty ones."""
    return tuple(
        Note(
            f"{system or 'The system'} has no output for {counted(count, 'item')} of {items}; they are scored as "
            "empty.",
            "warning",
            "incomplete",
            where=system,
        )
        for system, count in empty.items()
    )


def sheet_of(data: Any) -> Sheet:
    """A frame, a table, a data set or records as columns by name."""
    columns = _columns(data)
    if columns is None:
        raise BadInput(
            f"Cannot read texts from {type(data).__name__}. Give lists (outputs=, sources=, references=), a data "
            "frame, an Arrow table, a Hugging Face Dataset, a list of dicts or a dict of columns."
        )
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise BadInput(f"The columns have different lengths: {', '.join(map(str, sorted(lengths)))}.")
    return Sheet(columns, _FRAME, range(1, max(lengths, default=0) + 1), "row")


def widened(sheet: Sheet, columns: Columns | None = None) -> Sheet:
    """A long table (a row for each system and item) as a wide one (a row an item, a column a system).

    Items are told apart by id, or else by source; a table without a column ``system`` passes through.
    """
    chosen = dict(columns or {})
    system = str(chosen.pop(_SYSTEM, _SYSTEM))
    if system not in sheet.columns:
        return sheet
    roles = find_roles(sheet, chosen)
    by_name = list(roles.outputs.values())
    key = roles.id or roles.source
    if len(by_name) != 1 or key is None:
        return sheet
    systems, items = names(sheet, system), names(sheet, key)
    first: dict[str, int] = {}
    cells: dict[str, dict[str, object]] = {}
    for row, (name, item) in enumerate(zip(systems, items, strict=True)):
        first.setdefault(item, row)
        written = cells.setdefault(name, {})
        if item in written:
            raise BadInput(f"{sheet.where(row)}: system {name!r} has a second output for the item {item!r}.")
        written[item] = sheet.column(by_name[0])[row]
    for name, written in cells.items():
        missing = next((item for item in first if item not in written), None)
        if missing is not None:
            raise BadInput(f"{sheet.path}: system {name!r} has no output for the item {missing!r}.")
    wide = sheet.chosen(list(first.values()))
    kept = {name: values for name, values in wide.columns.items() if name not in (system, by_name[0])}
    kept |= {f"output_{name}": [written[item] for item in first] for name, written in cells.items()}
    return replace(wide, columns=kept)


def _strings(values: Any, where: str, incomplete: Incomplete = "refuse") -> Sequence[str]:
    """A list of texts, or an error that names the first item which is not text."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise BadInput(f"{where} is a list of texts, not {type(values).__name__}.")
    texts = values if isinstance(values, (list, tuple)) else list(values)  # a pandas or polars column, an array
    if set(map(type, texts)) <= {str}:
        return texts
    if incomplete != "refuse":
        texts = [(ABSENT if incomplete == "skip" else "") if missing(value) else value for value in texts]
    for item, value in enumerate(texts):
        if not isinstance(value, str):
            shown = "nothing (None or NaN)" if missing(value) else f"{type(value).__name__} {value!r:.40}"
            raise BadInput(f'{where}[{item}] is {shown}, not text. Write "" where there is no text.')
    return [text if isinstance(text, Absent) else str(text) for text in texts]  # subclasses of str, such as NumPy's


def _from_sheet(
    sheet: Sheet,
    evalset: EvalSet | None,
    outputs: Sequence[str] | Outputs | None,
    columns: Columns | None,
    incomplete: Incomplete,
) -> Texts:
    roles = {role: name for role, name in (columns or {}).items() if role != _SYSTEM} or None
    if evalset is None:
        evalset = read_evalset(table=sheet, columns=roles, name="")
    if outputs is not None:
        return read_texts(evalset=evalset, outputs=outputs, incomplete=incomplete)
    empty: dict[str, int] = {}
    systems = read_outputs(
        [sheet], n=len(evalset), ids=evalset.ids, columns=roles, incomplete=incomplete, missing=empty
    )
    if len(systems) == 1 and _FRAME in systems:
        systems, empty = {"": systems[_FRAME]}, {"": empty[_FRAME]} if empty else {}
    return Texts(evalset, systems, (*empty_notes(empty, len(evalset)), *absence_notes(systems)))


def _columns(data: Any) -> dict[str, list[object]] | None:
    if isinstance(data, Mapping):
        for name, values in data.items():
            if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
                raise BadInput(f"{name!r} holds {type(values).__name__}, not a list with a value for each row.")
        return {str(name): list(values) for name, values in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        if not all(isinstance(record, Mapping) for record in data):
            return None
        record_names = dict.fromkeys(name for record in data for name in record)
        return {str(name): [record.get(name) for record in data] for name in record_names}
    if hasattr(data, "to_pydict"):  # Arrow
        return dict(data.to_pydict())
    if hasattr(data, "column_names") and hasattr(data, "features"):  # Hugging Face
        return {str(name): list(values) for name, values in data[:].items()}
    if hasattr(data, "get_columns") and hasattr(data, "to_dict"):  # polars
        return dict(data.to_dict(as_series=False))
    if hasattr(data, "columns") and hasattr(data, "to_dict"):  # pandas
        return {str(name): values for name, values in data.to_dict("list").items()}
    return None
