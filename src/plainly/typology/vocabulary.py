"""The vocabulary of 26 operations and err, from ``typology.toml``, and its mapping to other typologies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from plainly.core.errors import BadInput, UnknownName
from plainly.core.files import read_shipped
from plainly.core.result import Listing

Side = Literal["source", "output", "both"]
Computational = Literal["add", "delete", "replace", "other"]
Linguistic = Literal["lexical", "syntactic", "morphological", "discourse", "order", "consistency", "error"]
SCHEMA = "plainly.operations/1"
_FIELDS = ("label", "guide", "paper", "title", "side", "computational", "linguistic", "definition")
_EXPLAINED = 3  # Up to so many operations are explained; more are only listed.
NONE = "none"  # The label of a token outside all groups; not an operation.


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation; ``label`` is its name in the released files."""

    label: str
    guide: str
    title: str
    verb: str
    side: Side
    computational: Computational
    linguistic: Linguistic
    definition: str
    example: Mapping[str, str]  # source, output and groups
    paper: str = ""
    counterpart: str = ""
    paper_syntactic: bool = False
    paper_subset: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of the operation, the label first."""
        return tuple({name.casefold(): name for name in (self.paper, self.guide, self.label) if name}.values())[::-1]


@dataclass(frozen=True)
class OtherTypology:
    """Another typology: its types with the labels each can be, and the one type of each label."""

    name: str
    title: str
    source: str
    lossy: str
    types: Mapping[str, Sequence[str]]
    back: Mapping[str, str]


@cache
def operations() -> tuple[Operation, ...]:
    """Return all 27 operations in the order of the file, lexical ones first and err last."""
    return tuple(Operation(**entry) for entry in read_shipped(__file__, "typology.toml")["operation"])


@cache
def _by_name() -> dict[str, Operation]:
    return {name.casefold(): entry for entry in operations() for name in entry.names}


@cache
def _classes() -> dict[str, frozenset[str]]:
    """Return names for several labels: computational and linguistic classes, and ``any`` for all but err."""
    classes: dict[str, frozenset[str]] = {}
    for names, field in ((get_args(Computational), "computational"), (get_args(Linguistic), "linguistic")):
        for name in names:
            classes[name] = frozenset(entry.label for entry in operations() if getattr(entry, field) == name)
    for name in ("add", "delete", "replace"):
        entries = (entry for entry in operations() if (entry.paper_subset or entry.computational) == name)
        classes[f"paper-{name}"] = frozenset(entry.label for entry in entries)
    classes["paper-syntactic"] = frozenset(entry.label for entry in operations() if entry.paper_syntactic)
    classes["insert"], classes["del"] = classes["add"], classes["delete"]
    classes["any"] = frozenset(all_labels()) - {"err"}
    return classes


def all_labels() -> tuple[str, ...]:
    """Return the 27 labels as the files spell them."""
    return tuple(entry.label for entry in operations())


def operation(name: str) -> Operation:
    """Return the operation with a name: the file's label, the guide's abbreviation or the paper's name, in any case."""
    if not is_operation(name):
        raise UnknownName("operation", name, all_labels(), see="plainly operations typology")
    return _by_name()[name.casefold()]


def resolve(names: str | Iterable[str]) -> frozenset[str]:
    """Return the labels that names stand for: ``"lexical,split"`` is synonym, hyperonym, hyponym and split."""
    parts = names.split(",") if isinstance(names, str) else names
    labels: set[str] = set()
    for name in filter(None, map(str.strip, parts)):
        if name.casefold() in _classes():
            labels |= _classes()[name.casefold()]
        elif is_operation(name):
            labels.add(canonical(name))
        else:
            names = (*all_labels(), *_classes())
            raise UnknownName("operation or class of operations", name, names, see="plainly operations typology")
    if not labels:
        raise BadInput(
            "No operation was named. Pass labels or classes: synonym,lexical. See: plainly operations typology"
        )
    return frozenset(labels)


def is_operation(label: str) -> bool:
    """Return whether a label belongs to the typology. Annotated files hold others: Yawat's default is ``literal``."""
    return label.casefold() in _by_name()


def canonical(label: str) -> str:
    """Return the file's spelling of a label; an unknown label stays as it is."""
    return _by_name()[label.casefold()].label if is_operation(label) else label


def describe(label: str) -> str:
    """Return a label with its meaning, for tables: ``s2p (singular → plural)``; an unknown label stays as it is."""
    title = operation(label).title.lower().replace(" to ", " → ") if is_operation(label) else label
    return label if title.split()[0] == label.lower() else f"{label} ({title})"


@cache
def mappings() -> dict[str, OtherTypology]:
    """Return the other typologies by name: salsa, ts-anno, easse, swipe."""
    return {name: OtherTypology(name=name, **entry) for name, entry in read_shipped(__file__, "mappings.toml").items()}


def mapping(name: str) -> OtherTypology:
    """Return one other typology."""
    if name not in mappings():
        raise UnknownName("typology", name, mappings(), see="plainly operations typology --mapping NAME")
    return mappings()[name]


def glossary(names: str | None = None) -> Listing:
    """Return the operations that names stand for (labels, or classes such as ``lexical``), or all."""
    labels = resolve(names) if names else all_labels()
    entries = [entry for entry in operations() if entry.label in labels]
    rows = [{name: getattr(entry, name) for name in _FIELDS} for entry in entries]
    examples = [entry.example for entry in entries]
    with_examples = [row | {"example": example} for row, example in zip(rows, examples, strict=True)]
    columns = {"label": "label", "guide": "guide", "side": "side", "computational": "class", "linguistic": "kind"}
    if len(entries) > _EXPLAINED:
        columns["title"] = "what it is"
    else:
        columns |= {"definition": "what it is", "example": "example"}
        texts = map("{source} → {output}  ({groups})".format_map, examples)
        rows = [row | {"example": text} for row, text in zip(rows, texts, strict=True)]
    return Listing({"schema": SCHEMA, "operations": with_examples}, tuple(rows), columns)


def typology_mapping(name: str) -> Listing:
    """Return the labels that correspond to the types of another typology: salsa, ts-anno, easse or swipe."""
    other = mapping(name)
    fields = {"source": other.source, "types": dict(other.types), "back": dict(other.back)}
    rows = tuple({"type": entry, "labels": ", ".join(labels) or "–"} for entry, labels in other.types.items())
    columns = {"type": other.name, "labels": "labels, the likeliest first"}
    about = f"{other.title}. {other.source} {other.lossy}"
    return Listing({"schema": SCHEMA, "mapping": other.name, **fields}, rows, columns, about)
