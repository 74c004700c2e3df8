"""What people hand over from Python, in any of its shapes: one way in for every public function.

Lists and mappings of texts, an evaluation set, a data frame (pandas, polars), an Arrow table, a Hugging Face data set,
a list of records or a mapping of columns; frames may be wide (a column a system) or long (a column ``system``).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

from plainly.core.errors import BadInput, way
from plainly.core.evalset import Absent, EvalSet
from plainly.core.formatting import counted
from plainly.core.result import Note
from plainly.io.columns import Columns, find_roles, missing, names
from plainly.io.consistency import check_references
from plainly.io.evalsets import read_evalset, read_outputs
from plainly.io.tables import Sheet
from plainly.text.languages import detection

Outputs = Mapping[str, Sequence[str]]
_SYSTEM = "system"
_FRAME = "the data frame"
_LOOKED_AT = 500  # texts in which a language is found out


@dataclass(frozen=True)
class Inputs:
    """An evaluation set and what systems wrote for it."""

    evalset: EvalSet
    outputs: Outputs
    notes: tuple[Note, ...] = ()  # what was taken for what, and what is missing

    @property
    def has_references(self) -> bool:
        return self.evalset.has_references

    @property
    def language(self) -> str:
        return self.evalset.language


class TextArguments(TypedDict, total=False):
    """The keywords with which every public function takes texts.

    ``columns`` says what the columns of a frame are where their names do not: ``{"source": "complex"}``.
    ``language`` is the code of the language that the texts are in ("de"), or "auto" to have it found out.
    """

    outputs: Sequence[str] | Outputs | None
    sources: Sequence[str] | None
    references: Sequence[Sequence[str]] | None
    evalset: EvalSet | None
    ids: Sequence[Any] | None
    groups: Sequence[Any] | None
    columns: Columns | None
    language: str | None


def take(data: Any = None, **texts: Unpack[TextArguments]) -> Inputs:
    """Check what was handed over and put it into the shape that everything else works on.

    One list of outputs without a name is the system "".
    """
    language = texts.pop("language", None)
    if isinstance(data, Inputs) and language is None:
        return data
    rest: dict[str, Any] = dict(texts)
    return spoken(_take(data, **rest), language)


def spoken(inputs: Inputs, language: str | None) -> Inputs:
    """The inputs with the language of their texts: as it was said, as their card has it, or ("auto") found out."""
    evalset, source = inputs.evalset, "as was said"
    if language is None:
        language, source = evalset.language, f"as the card of {evalset.name} says" if evalset.name else source
        if language in ("", "en"):  # unknown, or what everything is made for
            return inputs
    elif language == "auto":
        lines = evalset.sources if evalset.has_sources else next(iter(inputs.outputs.values()), ())
        language, source = detection.tally(lines[:_LOOKED_AT])[1] or "", "found out from the texts"
        if not language:
            say = way("language=", "--language CODE")
            raise BadInput(f"Nobody can tell which language the texts are in; they are few, or mixed. Say it: {say}")
    detection.check(language)
    note = Note(f"The texts are {detection.named(language)} ({language}), {source}.")
    return replace(inputs, evalset=replace(evalset, language=language), notes=(*inputs.notes, note))


def _take(
    data: Any = None,
    *,
    outputs: Sequence[str] | Outputs | None = None,
    sources: Sequence[str] | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    ids: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    columns: Columns | None = None,
) -> Inputs:
    if isinstance(data, Inputs):
        return data
    if isinstance(data, EvalSet):
        evalset, data = data, None
    if data is not None:
        if sources is not None or references is not None:
            raise BadInput("Give either a frame that holds the texts, or sources= and references=, not both.")
        return _from_sheet(widened(sheet_of(data), columns), evalset, outputs, columns)
    if outputs is None:
        raise BadInput("No outputs were given: outputs=[…] or outputs={'A': […], 'B': […]}.")
    if isinstance(outputs, str):
        raise BadInput("outputs is a list of texts (or a mapping from system to such a list), not one text.")
    systems: Outputs = outputs if isinstance(outputs, Mapping) else {"": outputs}
    if not systems:
        raise BadInput("No outputs were given.")
    systems = {str(name): _texts(lines, f"outputs[{name!r}]" if name else "outputs") for name, lines in systems.items()}
    if evalset is not None:
        if sources is not None or references is not None:
            raise BadInput("Give either an evaluation set or sources and references, not both.")
        return Inputs(evalset, systems, absences(systems))
    sources = None if sources is None else _texts(sources, "sources")
    n = len(sources) if sources is not None else len(next(iter(systems.values())))
    if references is not None and (isinstance(references, (str, bytes)) or not hasattr(references, "__len__")):
        raise BadInput(f"references is a list with the references of each item, not {type(references).__name__}.")
    checked = check_references(references, n, sources=sources) if references is not None else None
    return Inputs(EvalSet.of(sources, references=checked, groups=groups, ids=ids, items=n), systems)


def absences(outputs: Outputs) -> tuple[Note, ...]:
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


def _texts(values: Any, where: str) -> Sequence[str]:
    """A list of texts as it is, or an error that names the first item which is none."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise BadInput(f"{where} is a list of texts, not {type(values).__name__}.")
    texts = values if isinstance(values, (list, tuple)) else list(values)  # a pandas or polars column, an array
    if set(map(type, texts)) <= {str}:
        return texts
    for item, value in enumerate(texts):
        if not isinstance(value, str):
            shown = "nothing (None or NaN)" if missing(value) else f"{type(value).__name__} {value!r:.40}"
            raise BadInput(f'{where}[{item}] is {shown}, not text. Write "" where there is no text.')
    return [text if isinstance(text, Absent) else str(text) for text in texts]  # a kind of str, such as NumPy's


def _from_sheet(
    sheet: Sheet, evalset: EvalSet | None, outputs: Sequence[str] | Outputs | None, columns: Columns | None
) -> Inputs:
    chosen = {role: name for role, name in (columns or {}).items() if role != _SYSTEM} or None
    if evalset is None:
        evalset = read_evalset(table=sheet, columns=chosen, name="")
    if outputs is not None:
        return _take(evalset=evalset, outputs=outputs)
    systems = read_outputs([sheet], n=len(evalset), ids=evalset.ids, columns=chosen)
    unnamed = len(systems) == 1 and _FRAME in systems
    return Inputs(evalset, {"": systems[_FRAME]} if unnamed else systems)


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
