"""The texts that a caller passes, in any of their shapes, as one value: ``Texts``.

Every public function reads its texts with ``TextArguments.read``: lists and mappings of texts, an evaluation set, a
data frame (pandas, polars), an Arrow table, a Hugging Face data set, a list of records or a mapping of columns. Frames
may be wide (one column per system) or long (a column ``system``). The command line reads files with ``read_inputs``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, check_choice
from plainly.core.evalset import ABSENT, Absent, EvalItem, EvalSet, Index, find_present, is_missing
from plainly.core.formatting import count_noun, listed
from plainly.core.result import Note
from plainly.io.columns import (
    Columns,
    Roles,
    arrange,
    check_columns,
    columns_in,
    find_roles,
    names,
    references_by_item,
    texts,
)
from plainly.io.consistency import check_references, check_unique, match_ids
from plainly.io.evalsets import Incomplete, Spec, parse_spec, read_evalset, read_outputs
from plainly.io.files import STDIN, expand
from plainly.io.tables import Sheet, columns_of, read_table, table_format
from plainly.text.languages import detection

if TYPE_CHECKING:
    from plainly.io.units import Unit

Outputs = Mapping[str, Sequence[str]]
_FRAME = "the data frame"
_DETECTION_SAMPLE = 500  # texts from which a language is detected


@dataclass(frozen=True)
class Texts:
    """An evaluation set and the outputs of systems for it; an item that a system does not have is ``ABSENT`` there.

    ``texts[:10]``, ``texts[mask]``, ``texts[positions]`` and ``texts.filter(…)`` are the texts of some items.
    """

    evalset: EvalSet
    outputs: Outputs
    notes: tuple[Note, ...] = ()  # how columns were interpreted, and what is missing

    def __post_init__(self) -> None:
        for system, lines in self.outputs.items():
            if len(lines) != len(self.evalset):
                raise BadInput(
                    f"{f'System {system!r}' if system else 'The system'} has {count_noun(len(lines), 'output')} for "
                    f"{count_noun(len(self.evalset), 'item')}; give one for each item."
                )
            if len(lines) and not find_present(lines).any():
                raise BadInput(
                    f"{f'System {system!r}' if system else 'The system'} has no output for any of the "
                    f"{count_noun(len(lines), 'item')}. Leave it out, or check its ids."
                )

    def __len__(self) -> int:
        return len(self.evalset)

    def __getitem__(self, index: Index) -> "Texts":
        evalset = self.evalset[index]
        positions = np.arange(len(self.evalset))[index].tolist()
        outputs = {system: tuple(lines[at] for at in positions) for system, lines in self.outputs.items()}
        return replace(self, evalset=evalset, outputs=outputs)

    def filter(self, predicate: Callable[[EvalItem], Any]) -> "Texts":
        """Return the items for which a function is true: ``texts.filter(lambda item: item.group == "health")``."""
        items = self.evalset.items(self.outputs)
        return self[np.array([bool(predicate(item)) for item in items], dtype=bool)]

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.outputs)

    @property
    def has_references(self) -> bool:
        return self.evalset.has_references

    @property
    def language(self) -> str:
        return self.evalset.language

    @property
    def is_complete(self) -> bool:
        """Whether every system has an output for every item."""
        return all(self.present(system).all() for system in self.outputs)

    def present(self, system: str) -> npt.NDArray[np.bool_]:
        """Return which items a system has."""
        return find_present(self.outputs[system])

    def shared(self, *systems: str) -> "Texts":
        """Return the texts of these systems (default: all), restricted to the items that every one of them has."""
        names = systems or self.systems
        mask = np.logical_and.reduce([self.present(system) for system in names])
        if mask.all() and names == self.systems:
            return self
        return replace(self, outputs={system: self.outputs[system] for system in names})[mask]


@dataclass(frozen=True)
class TextArguments:
    """The arguments that every public function on texts has beside ``data``, passed on as one value.

    ``columns`` assigns roles to columns of a frame whose names do not show them: ``{"source": "complex"}``.
    ``language`` is a code ("de"), or "auto" to detect it. ``incomplete`` says what happens to items for which a system
    has no output (None in a list, or an id missing from a frame): an error, an empty output, or "skip", which scores
    the system on the items that it has. ``unit`` joins or divides the texts into documents, paragraphs or sentences.
    """

    sources: Sequence[str] | None = None
    outputs: Sequence[str] | Outputs | None = None
    references: Sequence[Sequence[str]] | None = None
    evalset: EvalSet | None = None
    ids: Sequence[Any] | None = None
    groups: Sequence[Any] | None = None
    columns: Columns | None = None
    language: str | None = None
    incomplete: Incomplete = "refuse"
    unit: "Unit | None" = None

    @property
    def is_empty(self) -> bool:
        """Whether no texts are given."""
        return all(part is None for part in (self.sources, self.outputs, self.references, self.evalset))

    def read(self, data: Any = None) -> Texts:
        """Check what a caller passed and return it as ``Texts``; every public function that takes texts calls this.

        ``data`` is an evaluation set, a frame, or texts that were read before. One list of outputs without a name is
        the system "".
        """
        evalset, columns = self.evalset, self.columns
        check_choice("incomplete", self.incomplete, get_args(Incomplete))
        if columns is not None and not isinstance(columns, Mapping):
            raise BadInput(f"columns= must be a mapping from roles to columns, not {type(columns).__name__}.")
        if isinstance(data, EvalSet):
            evalset, data = data, None
        if data is not None and (self.sources is not None or self.references is not None):
            raise BadInput("Pass either data that contains the texts, or sources= and references=, not both.")
        if (self.ids is not None or self.groups is not None) and (data is not None or evalset is not None):
            raise BadInput("ids= and groups= go with sources=; a table has columns for them, and a set its own.")
        if columns and (data is None or isinstance(data, Texts)):
            raise BadInput("columns= goes with a table or a data frame; texts in lists have no columns.")
        if isinstance(data, Texts):
            texts = data
        elif data is not None:
            texts = _from_sheet(sheet_of(data), replace(self, evalset=evalset))
        else:
            texts = _from_lists(replace(self, evalset=evalset))
        if self.unit is not None:
            from plainly.io.units import with_unit

            texts = with_unit(texts, self.unit)
        return with_language(texts, self.language) if self.language is not None or texts is not data else texts


def with_language(texts: Texts, language: str | None) -> Texts:
    """Return the texts with their language: as passed, from the card of the set, or detected ("auto")."""
    evalset, origin = texts.evalset, "as specified"
    if language is None:
        language, origin = evalset.language, f"according to the card of {evalset.name}" if evalset.name else origin
        if language in ("", "en"):  # unknown, or the default of every metric
            return texts
    elif isinstance(language, str) and language == "auto":
        lines = evalset.sources if evalset.has_sources else next(iter(texts.outputs.values()), ())
        language, origin = detection.detect_all(lines[:_DETECTION_SAMPLE])[1] or "", "detected from the texts"
        if not language:
            raise BadInput(
                "Could not detect the language of these texts: there are too few, or they are mixed. Pass language=."
            )
    detection.check(language)
    note = Note(f"The texts are {detection.language_name(language)} ({language}), {origin}.")
    return replace(texts, evalset=replace(evalset, language=language), notes=(*texts.notes, note))


def read_inputs(
    outputs: Iterable[str],
    *,
    source: str | None = None,
    references: Sequence[str] = (),
    table: str | None = None,
    groups: str | None = None,
    columns: Columns | None = None,
    evalset: EvalSet | None = None,
    incomplete: Incomplete = "refuse",
) -> Texts:
    """Read the set and the outputs from files. ``evalset`` is a set that was read before (a named one).

    The set comes from ``table``, from files of sources and references, or from the first table among the outputs that
    has sources or references. Every other file contains outputs; its sources and references must be those of the set.
    """
    specs: list[Spec] = []
    sheets: dict[str, Sheet] = {}
    for name, path in (pair for spec in outputs for pair in parse_spec(spec)):
        if path in sheets:
            raise BadInput(f"{path} is given twice.")
        if path != STDIN and table_format(path):
            sheets[path] = read_table(path)
        specs.append((name, sheets.get(path, path)))
    if table is not None:
        sheets[table] = read_table(table)
    beside = [read_table(path) for path in (source, *expand(references)) if path and table_format(path)]
    check_columns([*sheets.values(), *beside], columns)
    arranged = {path: arrange(sheet, columns_in(sheet, columns)) for path, sheet in sheets.items()}
    roles = {path: roles for path, (_, roles) in arranged.items()}
    notes = tuple(note for sheet in sheets.values() for note in _note_columns(sheet, columns))
    origin = table
    if evalset is None and table is None and source is None and not references:
        with_texts = (path for path in sheets if roles[path].source or roles[path].references)
        origin = next(with_texts, next(iter(sheets), None))
    sheet = sheets[origin] if origin is not None else None
    if evalset is None and (sheet is not None or source is not None or references):
        choice = {role: name for one in (sheet, *beside) if one for role, name in columns_in(one, columns).items()}
        evalset = read_evalset(table=sheet, source=source, references=references, groups=groups, columns=choice)
    if table is not None and roles[table].outputs:
        specs.insert(0, sheets[table])
    if not specs:
        raise BadInput("No outputs were given. Name at least one file of a system's outputs: plainly score … OUTPUT")
    if evalset is None:  # no table: files with one output per line
        systems = read_outputs(specs)
        return Texts(EvalSet.of(items=len(next(iter(systems.values())))), systems, notes)
    systems = read_outputs(
        specs,
        n=len(evalset),
        against=str(source or (references[0] if references else evalset.name or table)),
        sources=evalset.sources,
        ids=evalset.ids,
        columns=columns,
        incomplete=_lacking(incomplete),
    )
    for path in arranged.keys() - {origin}:
        _check_same(*arranged[path], evalset)
    return _complete(Texts(evalset, systems, notes), incomplete)


def _lacking(incomplete: Incomplete) -> Incomplete:
    """Return how outputs are read if ``_complete`` is called on them next: it counts those that are absent."""
    return "refuse" if incomplete == "refuse" else "skip"


def _note_columns(sheet: Sheet, columns: Columns | None) -> list[Note]:
    """Return a note on columns that were recognised by another name than that of their role."""
    choice = columns_in(sheet, columns)
    roles = find_roles(sheet, choice)
    pairs = [("source", roles.source), ("id", roles.id), ("system", roles.system)]
    pairs += [("output", name) for name in roles.outputs.values()]
    usual = [
        f"{name!r} as {role}"
        for role, name in pairs
        if name is not None and role not in choice and not name.strip().casefold().startswith(role)
    ]
    return [Note(f"{sheet.path}: took {listed(usual)}.", code="columns")] if usual else []


def _check_same(sheet: Sheet, roles: Roles, evalset: EvalSet) -> None:
    """Raise unless the sources and references in a table of outputs are those of the set."""
    own = names(sheet, roles.id) if roles.id is not None else ()
    rows = match_ids(sheet, own, evalset.ids) if own else range(len(sheet))
    pairs: dict[str, tuple[list[list[str]], list[list[str]]]] = {}
    if roles.source is not None and evalset.has_sources:
        pairs["source"] = [*map(str.split, texts(sheet, roles.source))], [*map(str.split, evalset.sources)]
    if roles.references and evalset.references:
        own_references = references_by_item(sheet, roles.references)
        pairs["references"] = [*map(sorted, own_references)], [*map(sorted, evalset.references)]
    for role, (values, expected) in pairs.items():
        for item, row in enumerate(rows):
            if row is not None and values[row] != expected[item]:
                raise BadInput(
                    f"{sheet.where(row)}: the {role} column does not fit item {evalset.ids[item]!r} of "
                    f"{evalset.name or 'the set'}. Give outputs for the same items, in the same order or with ids, or "
                    "leave the column out."
                )


def _from_lists(arguments: TextArguments) -> Texts:
    evalset, outputs, references = arguments.evalset, arguments.outputs, arguments.references
    incomplete = arguments.incomplete
    if evalset is not None and not isinstance(evalset, EvalSet):
        raise BadInput(f"evalset= must be an evaluation set (plainly.load, plainly.EvalSet.of), not {evalset!r:.60}.")
    if outputs is None or (isinstance(outputs, Mapping) and not outputs):
        raise BadInput("No outputs were given: outputs=[…] or outputs={'A': […], 'B': […]}.")
    sources = None if arguments.sources is None else _strings(arguments.sources, "sources")
    systems: Outputs = outputs if isinstance(outputs, Mapping) else {"": outputs}
    systems = {
        str(name): _strings(lines, f"outputs[{name!r}]" if name else "outputs", may_lack=incomplete != "refuse")
        for name, lines in systems.items()
    }
    if evalset is not None:
        if sources is not None or references is not None:
            raise BadInput("Pass either an evaluation set or sources= and references=, not both.")
        return _complete(Texts(evalset, systems), incomplete)
    n = len(sources) if sources is not None else len(next(iter(systems.values())))
    if references is not None:
        references = check_references(references, n, sources=sources)
    made = EvalSet.of(sources, references=references, groups=arguments.groups, ids=arguments.ids, items=n)
    check_unique(made.ids, lambda item: f"ids[{item}]")
    return _complete(Texts(made, systems), incomplete)


def absence_notes(outputs: Outputs, *, as_empty: bool = False) -> tuple[Note, ...]:
    """Return a warning for each system that lacks outputs: it is scored on the others, or with empty ones."""
    notes = []
    for system, lines in outputs.items():
        if count := sum(isinstance(text, Absent) for text in lines):
            result = "they are scored as empty" if as_empty else f"it is scored on the other {len(lines) - count}"
            message = (
                f"{system or 'The system'} has no output for {count_noun(count, 'item')} of {len(lines)}; {result}."
            )
            notes.append(Note(message, "warning", "incomplete" if as_empty else "missing-outputs", where=system))
    return tuple(notes)


def sheet_of(data: Any) -> Sheet:
    """Return a frame, a table, a data set or records as a sheet."""
    if isinstance(data, Sheet):
        return data
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


def _check_list(name: str, values: object, content: str) -> None:
    """Raise unless there is one value after the other; a Python set has no order, so its texts belong to no item."""
    if isinstance(values, EvalSet):
        raise BadInput(f"{name} is an evaluation set. Pass it as evalset=, or its sources: evalset.sources")
    if isinstance(values, (str, bytes, Mapping, Set)) or not hasattr(values, "__len__"):
        raise BadInput(f"{name} must be a list {content}, not {type(values).__name__}.")


def _strings(values: Any, where: str, *, may_lack: bool = False) -> Sequence[str]:
    """Return a list of texts, or raise an error that names the first item that is not text."""
    _check_list(where, values, "of texts")
    texts = values if isinstance(values, (list, tuple)) else list(values)  # a pandas or polars column, an array
    if set(map(type, texts)) <= {str}:
        return texts
    if may_lack:
        texts = [ABSENT if is_missing(value) else value for value in texts]
    for item, value in enumerate(texts):
        if not isinstance(value, str):
            content = "nothing (None or NaN)" if is_missing(value) else f"{type(value).__name__} {value!r:.40}"
            step = 'Write "" where there is no text'
            if where != "sources" and is_missing(value):
                step += ", or leave the item out: incomplete='skip'"
            raise BadInput(f"{where}[{item}] is {content}, not text. {step}.")
    return [text if isinstance(text, Absent) else str(text) for text in texts]  # subclasses of str, such as NumPy's


def _from_sheet(sheet: Sheet, arguments: TextArguments) -> Texts:
    evalset, columns, incomplete = arguments.evalset, arguments.columns, arguments.incomplete
    if evalset is None:
        evalset = read_evalset(table=sheet, columns=columns, name="")
    else:
        _check_same(*arrange(sheet, columns), evalset)
    if arguments.outputs is not None:
        return _from_lists(TextArguments(outputs=arguments.outputs, evalset=evalset, incomplete=incomplete))
    systems = read_outputs(sheet, n=len(evalset), ids=evalset.ids, columns=columns, incomplete=_lacking(incomplete))
    if list(systems) == [_FRAME]:
        systems = {"": systems[_FRAME]}
    return _complete(Texts(evalset, systems), incomplete)


def _complete(texts: Texts, incomplete: Incomplete) -> Texts:
    """Return the texts with a note on each system that lacks items, and empty outputs for them if so chosen."""
    as_empty = incomplete == "empty"
    notes = (*texts.notes, *absence_notes(texts.outputs, as_empty=as_empty))
    if not as_empty:
        return replace(texts, notes=notes)
    return replace(texts, outputs={name: tuple(map(str, lines)) for name, lines in texts.outputs.items()}, notes=notes)


def _columns(data: Any) -> dict[str, list[object]] | None:
    if isinstance(data, Mapping):
        for name, values in data.items():
            if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
                raise BadInput(f"{name!r} holds {type(values).__name__}, not a list with a value for each row.")
        return {str(name): list(values) for name, values in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        if not all(isinstance(record, Mapping) for record in data):
            return None
        return columns_of(data)
    if hasattr(data, "to_pydict"):  # Arrow
        return dict(data.to_pydict())
    if hasattr(data, "column_names") and hasattr(data, "features"):  # Hugging Face
        return {str(name): list(values) for name, values in data[:].items()}
    if hasattr(data, "get_columns") and hasattr(data, "to_dict"):  # polars
        return dict(data.to_dict(as_series=False))
    if hasattr(data, "columns") and hasattr(data, "to_dict"):  # pandas
        indices = [name for name in data.index.names if name is not None and name not in data.columns]
        data = data.reset_index(indices) if indices else data
        if not data.columns.is_unique:
            twice = data.columns[data.columns.duplicated()][0]
            raise BadInput(f"Two columns of the data frame are called {twice!r}. Rename one.")
        return {str(name): list(map(_plain, values)) for name, values in data.to_dict("list").items()}
    return None


def _plain(value: Any) -> Any:
    """Return a list for an array, which is how pandas reads lists from Parquet."""
    return value.tolist() if hasattr(value, "tolist") else value
