"""The evaluation set: sources, references and where they come from, in columns, immutable, prepared once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput

T = TypeVar("T")
_INDEXED = "An evaluation set is indexed by a slice, a mask or a list of positions."
Index = slice | Sequence[bool] | Sequence[int] | npt.NDArray[np.bool_] | npt.NDArray[np.intp]


class Absent(str):
    """A placeholder for an output that a system does not have. It is blank; scores leave its item out."""

    __slots__ = ()


ABSENT = Absent()


def find_present(texts: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return which of a system's outputs are not ``ABSENT``."""
    return np.array([not isinstance(text, Absent) for text in texts], dtype=bool)


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, or another mark that data frames write where there is nothing."""
    if value is None or isinstance(value, (str, list, tuple, dict)):
        return value is None
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA equals nothing, not even itself; an array has no truth value
        return type(value).__name__ == "NAType"


def as_name(value: object) -> str:
    """Return an id or the name of a group as text; a whole number is written as such, also if it is a float."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def check_values(argument: str, values: object, content: Literal["texts", "names", "references"]) -> list[Any]:
    """Return the value that an argument has for each item, or raise unless all of them are what they should be.

    Texts are strings. Names may be numbers, which are returned as text. References are a list of texts for each item,
    in which those that are missing may be None or NaN.
    """
    if isinstance(values, (str, bytes, Mapping, Set)) or not isinstance(values, Iterable):
        raise BadInput(f"{argument}= must be a list with the {content} of all items, not {type(values).__name__}.")
    items = list(values)
    if set(map(type, items)) == {str} and content != "references":
        return items
    for at, value in enumerate(items):
        if content == "references":
            if isinstance(value, str) or not isinstance(value, Iterable):
                kind = "a string" if isinstance(value, str) else f"of type {type(value).__name__}"
                raise BadInput(
                    f"references[{at}] is {kind}; each item has a list of references, which may be empty. "
                    "If every item has one reference: [[r] for r in references]"
                )
            items[at] = list(value)
            for column, text in enumerate(() if set(map(type, items[at])) <= {str} else items[at]):
                if not isinstance(text, str) and not is_missing(text):
                    message = f"references[{at}][{column}] is of type {type(text).__name__}, not text"
                    raise BadInput(f"{message}. Give strings, or None for no reference.")
        elif content == "texts" and not isinstance(value, str):
            raise BadInput(f"{argument}[{at}] is {value!r:.60}, not text.")
        elif is_missing(value) or isinstance(value, (list, dict)):
            raise BadInput(f"{argument}[{at}] is {value!r:.40}, which is not a name. Give every item one.")
    return [as_name(value) for value in items] if content == "names" else items


def fingerprint(sources: Sequence[str], references: Sequence[Sequence[str]]) -> int:
    """Return a number that does not depend on the order of the items; those of parts add up, modulo 2⁶⁴."""
    rows = references or ((),) * len(sources)
    digests = b"".join(
        hashlib.blake2b("\x1f".join((source, *row)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for source, row in zip(sources, rows, strict=True)
    )
    return int(np.frombuffer(digests, dtype="<u8").sum(dtype=np.uint64))


def format_fingerprint(number: int) -> str:
    """Return the fingerprint as signatures show it."""
    return f"{number % 2**64:016x}"[:8]


class EvalItem(NamedTuple):
    """One item, as a filter sees it: ``outputs`` are those of the systems that have it, where there are any."""

    id: str
    source: str
    references: tuple[str, ...]
    group: str | None
    columns: Mapping[str, str]
    outputs: Mapping[str, str]


@dataclass(frozen=True)
class EvalSet:
    """What outputs are evaluated against.

    ``evalset[:10]``, ``evalset[mask]``, ``evalset[positions]`` and ``evalset.filter(…)`` are EvalSets of some items.

    References are per item and ragged: an item may have ten, one or none. References that are empty or only white space
    must be left out before (``plainly.io`` and ``EvalSet.of`` do so). ``has_sources`` is whether any source has text;
    ``has_references`` whether the set was made with references, although some items may have none.
    """

    ids: tuple[str, ...]
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...] = ()
    groups: tuple[str, ...] | None = None
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    name: str = ""
    language: str = ""  # the code of the language of the texts; "" if it is not known
    has_sources: bool = field(init=False, compare=False, repr=False)
    has_references: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        parts = {"sources": self.sources, "groups": self.groups, "references": self.references or None}
        columns = {f"values of column {name!r}": values for name, values in self.columns.items()}
        for part, values in (parts | columns).items():
            if values is not None and len(values) != len(self):
                message = f"An evaluation set with {len(self)} ids has {len(values)} {part}"
                raise BadInput(f"{message}; give one for each item.")
        copy = MappingProxyType(dict(self.columns))
        vars(self).update(
            columns=copy, has_sources=any(self.sources), has_references=bool(self.references), _prepared={}
        )

    @classmethod
    def of(
        cls,
        sources: Sequence[str] | None = None,
        *,
        references: Sequence[Sequence[str]] | None = None,
        ids: Sequence[Any] | None = None,
        groups: Sequence[Any] | None = None,
        columns: Mapping[str, Sequence[str]] | None = None,
        name: str = "",
        language: str = "",
        items: int | None = None,
    ) -> EvalSet:
        """Return an evaluation set from plain sequences; blank references are dropped, ids default to 1, 2, 3 …

        Ids and groups may be numbers; they are kept as text.

        ``sources`` may be left out for metrics that need none; then the number of items comes from the references
        or from ``items``.
        """
        rows = None if references is None else check_values("references", references, "references")
        if sources is None:
            n = len(rows) if rows is not None else items
            if n is None:
                raise BadInput("An evaluation set needs sources, references or a number of items.")
            sources = ("",) * n
        texts = check_values("sources", sources, "texts")
        if columns is not None and not isinstance(columns, Mapping):
            raise BadInput(f"columns= must be a mapping from names to values, not {type(columns).__name__}.")
        for column, values in (columns or {}).items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise BadInput(
                    f"columns[{column!r}] must hold a value per item, and is of type {type(values).__name__}."
                )
        return cls(
            ids=tuple(map(str, range(1, len(texts) + 1)) if ids is None else check_values("ids", ids, "names")),
            sources=tuple(texts),
            references=tuple(tuple(r for r in row if isinstance(r, str) and r.strip()) for row in rows or ()),
            groups=None if groups is None else tuple(check_values("groups", groups, "names")),
            columns={name: tuple(values) for name, values in (columns or {}).items()},
            name=name,
            language=language,
        )

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: Index) -> EvalSet:
        try:
            positions = np.arange(len(self))[index]
        except IndexError as error:
            raise BadInput(f"Cannot take these of {len(self)} items: {error}. {_INDEXED}") from None
        if positions.ndim != 1:
            raise BadInput(_INDEXED)

        def pick(values: Sequence[T]) -> tuple[T, ...]:
            return tuple(values[i] for i in positions)

        return replace(
            self,
            ids=pick(self.ids),
            sources=pick(self.sources),
            references=pick(self.references) if self.references else (),
            groups=pick(self.groups) if self.groups is not None else None,
            columns={name: pick(values) for name, values in self.columns.items()},
        )

    def items(self, outputs: Mapping[str, Sequence[str]] | None = None) -> Iterator[EvalItem]:
        """Yield the items, with the outputs of systems that are passed."""
        for at, (identifier, source) in enumerate(zip(self.ids, self.sources, strict=True)):
            texts = {system: lines[at] for system, lines in (outputs or {}).items()}
            yield EvalItem(
                identifier,
                source,
                self.references[at] if self.references else (),
                self.groups[at] if self.groups is not None else None,
                {name: values[at] for name, values in self.columns.items()},
                {system: text for system, text in texts.items() if not isinstance(text, Absent)},
            )

    def filter(self, predicate: Callable[[EvalItem], Any]) -> EvalSet:
        """Return the items for which a function is true: ``evalset.filter(lambda item: len(item.source) < 80)``."""
        return self[np.array([bool(predicate(item)) for item in self.items()], dtype=bool)]

    @cached_property
    def reference_counts(self) -> npt.NDArray[np.int64]:
        """How many references each item has."""
        return np.array([len(row) for row in self.references or ((),) * len(self)], dtype=np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """Eight hexadecimal digits that show whether two people have the same sources and references, in any order."""
        return format_fingerprint(fingerprint(self.sources, self.references))

    def require_references(self, metric: str) -> None:
        """Raise unless every item has a reference."""
        bare = np.flatnonzero(self.reference_counts == 0)
        if len(bare):
            raise BadInput(
                f"Item {self.ids[bare[0]]!r} (number {bare[0] + 1}) has no references; {metric} needs at least one for "
                f"each item. {len(bare)} of {len(self)} items have none: leave them out or give them references."
            )

    def prepare(self, key: Hashable, build: Callable[[EvalSet], T]) -> T:
        """Return ``build(self)``, computed only at the first call with this key."""
        cache: dict[Hashable, T] = self._prepared  # type: ignore[attr-defined]
        if key not in cache:
            cache[key] = build(self)
        return cache[key]

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.ids, self.sources, self.references, self.groups, dict(self.columns), self.name, self.language)
        return EvalSet, fields
