"""The evaluation set: sources, references and where they come from, in columns, immutable, prepared once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput

T = TypeVar("T")
Index = slice | Sequence[bool] | Sequence[int] | npt.NDArray[np.bool_] | npt.NDArray[np.intp]
_NO_COLUMNS: Mapping[str, tuple[str, ...]] = MappingProxyType({})
_FINGERPRINTS = 1 << 64


class Absent(str):
    """What stands for an output that a system did not give. It is blank; scores leave its item out."""

    __slots__ = ()


ABSENT = Absent()


def fingerprint(sources: Sequence[str], references: Sequence[Sequence[str]]) -> int:
    """A number for some items that adds up, modulo 2⁶⁴: no order and no division into parts changes the whole."""
    rows = references or ((),) * len(sources)
    digests = b"".join(
        hashlib.blake2b("\x1f".join((source, *row)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for source, row in zip(sources, rows, strict=True)
    )
    return int(np.frombuffer(digests, dtype="<u8").sum(dtype=np.uint64))


def shown_fingerprint(number: int) -> str:
    """The fingerprint as signatures show it."""
    return f"{number % _FINGERPRINTS:016x}"[:8]


@dataclass(frozen=True)
class EvalSet:
    """What outputs are evaluated against. ``evalset[mask]`` is an EvalSet of the chosen items.

    References are per item and ragged: an item may have ten, one or none. A reference that is empty or only white
    space is no reference and must be left out before (``plainly.io`` does so); ``EvalSet.of`` does it for you.
    """

    ids: tuple[str, ...]
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...] = ()
    groups: tuple[str, ...] | None = None
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NO_COLUMNS, repr=False)
    name: str = ""
    language: str = ""  # the code of the language that the texts are in; "" where nobody has said it

    def __post_init__(self) -> None:
        n = len(self.ids)
        lengths = {"sources": len(self.sources)}
        if self.references:
            lengths["references"] = len(self.references)
        if self.groups is not None:
            lengths["groups"] = len(self.groups)
        lengths.update({f"column {key!r}": len(values) for key, values in self.columns.items()})
        for what, length in lengths.items():
            if length != n:
                raise BadInput(f"An evaluation set with {n} ids has {length} {what}; give one for each item.")
        object.__setattr__(self, "_prepared", {})

    def check(self, outputs: Mapping[str, Sequence[str]]) -> None:
        """Every system must have an output for each item."""
        for system, texts in outputs.items():
            if len(texts) != len(self):
                raise BadInput(
                    f"System {system!r} has {len(texts)} outputs for {len(self)} items; give one for each item."
                )

    @classmethod
    def of(
        cls,
        sources: Sequence[str] | None = None,
        *,
        references: Sequence[Sequence[str]] | None = None,
        ids: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        columns: Mapping[str, Sequence[str]] | None = None,
        name: str = "",
        language: str = "",
        items: int | None = None,
    ) -> EvalSet:
        """An evaluation set from plain sequences; blank references are dropped, ids default to 1, 2, 3 …

        ``sources`` may be left out for metrics that need none; then the number of items comes from the references
        or from ``items``.
        """
        if sources is None:
            n = len(references) if references is not None else items
            if n is None:
                raise BadInput("An evaluation set needs sources, references or a number of items.")
            sources = ("",) * n
        kept = tuple(tuple(r for r in row if r and not r.isspace()) for row in references) if references else ()
        return cls(
            ids=tuple(ids) if ids is not None else tuple(str(i + 1) for i in range(len(sources))),
            sources=tuple(sources),
            references=kept,
            groups=tuple(groups) if groups is not None else None,
            columns=MappingProxyType({k: tuple(v) for k, v in columns.items()}) if columns else _NO_COLUMNS,
            name=name,
            language=language,
        )

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: Index) -> EvalSet:
        chosen = np.arange(len(self))[index]
        if chosen.ndim != 1:
            raise BadInput("An evaluation set is indexed by a slice, a mask or a list of positions.")

        def pick(values: Sequence[T]) -> tuple[T, ...]:
            return tuple(values[i] for i in chosen)

        return EvalSet(
            ids=pick(self.ids),
            sources=pick(self.sources),
            references=pick(self.references) if self.references else (),
            groups=pick(self.groups) if self.groups is not None else None,
            columns=MappingProxyType({k: pick(v) for k, v in self.columns.items()}) if self.columns else _NO_COLUMNS,
            name=self.name,
            language=self.language,
        )

    @cached_property
    def has_sources(self) -> bool:
        """Whether any source says something; False when the set was made without sources."""
        return any(self.sources)

    @property
    def has_references(self) -> bool:
        """Whether the set was made with references; some items may have none."""
        return bool(self.references)

    @cached_property
    def reference_counts(self) -> npt.NDArray[np.int64]:
        """How many references each item has."""
        if not self.references:
            return np.zeros(len(self), dtype=np.int64)
        return np.fromiter(map(len, self.references), dtype=np.int64, count=len(self))

    @cached_property
    def fingerprint(self) -> str:
        """Eight hexadecimal digits of sources and references, in any order: do two people have the same data?"""
        return shown_fingerprint(fingerprint(self.sources, self.references))

    def require_references(self, metric: str) -> None:
        """Raise unless every item has a reference, and say which has none."""
        bare = np.flatnonzero(self.reference_counts == 0)
        if len(bare):
            raise BadInput(
                f"Item {self.ids[bare[0]]!r} (number {bare[0] + 1}) has no references; {metric} needs at least one for "
                f"each item. {len(bare)} of {len(self)} items have none: leave them out or give them references."
            )

    def prepare(self, key: Hashable, build: Callable[[EvalSet], T]) -> T:
        """``build(self)``, computed at the first call with this key and kept: sources and references cost once."""
        cache: dict[Hashable, Any] = self._prepared  # type: ignore[attr-defined]
        if key not in cache:
            cache[key] = build(self)
        found: T = cache[key]
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in ("ids", "sources", "references", "groups", "name", "language")},
            "columns": dict(self.columns),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        for key, value in state.items():
            object.__setattr__(self, key, MappingProxyType(value) if key == "columns" else value)
        object.__setattr__(self, "_prepared", {})
