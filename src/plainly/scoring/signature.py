"""How a number was made, as data; its text stands beside every number."""

from __future__ import annotations

import re
from dataclasses import dataclass

import plainly
from plainly.core.evalset import EvalSet
from plainly.core.metric import Metric

_TEXT = re.compile(
    r"(?P<spec>.*?)(?:\|refs:(?P<refs>[\d-]+))?\|data:(?P<data>[^|]*)(?P<rest>(?:\|[^|:]+:[^|]*)*)", re.DOTALL
)


@dataclass(frozen=True, repr=False)
class Signature:
    """The full spec, the fewest and most references of an item, the data, packages that decide about the number, and
    what else was done to it (``subset:30``)."""

    spec: str
    data: str
    references: tuple[int, int] | None = None
    packages: tuple[tuple[str, str], ...] = ()
    version: str = plainly.__version__
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, metric: Metric, *, data: str, references: tuple[int, int] | None) -> Signature:
        """The signature of a metric on data with this fingerprint."""
        return cls(
            spec=metric.spec(full=True),
            data=data,
            references=references if "references" in metric.needs else None,
            packages=tuple((package, _version(package)) for package in metric.packages),
        )

    @classmethod
    def parse(cls, text: str) -> Signature:
        """The signature that a text shows; score files keep the text."""
        shown = _TEXT.fullmatch(text)
        if shown is None:
            raise ValueError(f"{text!r} is no signature")
        counts = [int(count) for count in shown["refs"].split("-")] if shown["refs"] else []
        fields = [tuple(field.split(":", 1)) for field in shown["rest"].split("|")[1:]]
        names = [name for name, _ in fields]
        at = names.index("plainly") if "plainly" in names else len(names)
        return cls(
            spec=shown["spec"],
            data=shown["data"],
            references=(counts[0], counts[-1]) if counts else None,
            packages=tuple((name, value) for name, value in fields[:at]),
            version=fields[at][1] if at < len(fields) else "",
            remarks=tuple(f"{name}:{value}" for name, value in fields[at + 1 :]),
        )

    @property
    def headline(self) -> str:
        """The output that the spec names, ``output`` of ``sle(…).output``; empty where it names a whole metric."""
        return self.spec.rpartition(").")[2] if ")." in self.spec else ""

    def __str__(self) -> str:
        parts = [self.spec]
        if self.references is not None:
            fewest, most = self.references
            parts.append(f"refs:{most}" if fewest == most else f"refs:{fewest}-{most}")
        parts += [f"data:{self.data}", *(f"{package}:{version}" for package, version in self.packages)]
        return "|".join([*parts, f"plainly:{self.version}", *self.remarks])

    __repr__ = __str__


def reference_range(evalset: EvalSet) -> tuple[int, int]:
    """The fewest and most references of an item."""
    counts = evalset.reference_counts
    if not evalset.references:
        return (0, 0)
    return (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
