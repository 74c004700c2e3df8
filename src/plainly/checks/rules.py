"""What a text must satisfy: rules for the corpus, for the difference from a baseline, and for every output.

A rule is a line of text, ``quality >= 55`` or ``facts.changed <= 1%``, so that a rules file, a command line and a page
say the same thing. Rules files are TOML; ``plainly gate init`` writes one with comments.
"""

import datetime
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from plainly.core import registry
from plainly.core.errors import BadInput, UnknownName, did_you_mean
from plainly.core.files import check_keys, read_toml
from plainly.io.faults import output_faults

Side = Literal[">=", "<="]
_LIMIT = re.compile(r"\s*(?P<metric>[^<>=()]+(?:\([^()]*\))?(?:\.\w+)?)\s*(?P<side>>=|<=|>|<)\s*(?P<limit>\S+)\s*")
LEVELS = {"A1": 1.0, "A2": 2.0, "B1": 3.0, "B2": 4.0, "C1": 5.0, "C2": 6.0}
# Faults of an output that need no metric: those of the doctor, and these.
EMPTY, OPEN_END, LANGUAGE, WORDS = "empty", "open-end", "language", "words"
FAULTS = (EMPTY, *output_faults.CHECKS, OPEN_END, LANGUAGE)
PRESETS = ("plain", "easy", "never-worse", "quick")


@dataclass(frozen=True)
class Limit:
    """A limit on an output of a metric: ``meaning >= 40``. A limit in percent is a share of the outputs."""

    text: str
    spec: str
    output: str
    side: Side
    value: float
    percent: bool = False

    @classmethod
    def parse(cls, text: str) -> "Limit":
        match = _LIMIT.fullmatch(text)
        if match is None:
            raise BadInput(f"Cannot read the rule {text!r}. Write METRIC >= NUMBER or METRIC.OUTPUT <= NUMBER%.")
        spec, output = _metric(match["metric"].strip())
        side: Side = ">=" if match["side"].startswith(">") else "<="
        limit = match["limit"]
        percent = limit.endswith("%")
        try:
            value = LEVELS.get(limit.upper()) or float(limit.removesuffix("%"))
        except ValueError:
            raise BadInput(f"In the rule {text!r}, {limit!r} is no number.") from None
        if not math.isfinite(value):
            raise BadInput(f"In the rule {text!r}, {limit!r} is no limit.")
        return cls(" ".join(text.split()), spec, output, side, value, percent)

    def holds(self, value: float) -> bool:
        """Whether a number keeps to the limit; an undefined one does not."""
        return value >= self.value if self.side == ">=" else value <= self.value


@dataclass(frozen=True)
class Margin:
    """Not worse than a baseline by more than ``margin``: ``baseline.jsonl:sari:0.5``."""

    text: str
    baseline: str
    spec: str
    margin: float

    @classmethod
    def parse(cls, text: str) -> "Margin":
        baseline, _, rest = text.rpartition(":")
        baseline, _, written = baseline.rpartition(":")
        try:
            margin = float(rest)
        except ValueError:
            margin = math.nan
        if not baseline or not 0 <= margin < math.inf:
            raise BadInput(f"Cannot read {text!r}. Write BASELINE:METRIC:MARGIN, for example baseline.jsonl:sari:0.5")
        spec, output = _metric(written.strip())
        if output != registry.metric(spec).outputs[0]:
            raise BadInput(f"{written!r}: a baseline is compared by a metric's headline. Name the metric alone.")
        if registry.metric(spec).better == "neither":
            raise BadInput(f"{spec} has no better side, so nothing can be worse by it.")
        return cls(text, baseline, spec, margin)


@dataclass(frozen=True)
class Waiver:
    """A finding that is let pass, why, and until when."""

    rule: str
    reason: str
    until: datetime.date
    item: str = ""  # every item where none is named

    def covers(self, rule: str, item: str, today: datetime.date) -> bool:
        return self.rule == rule and self.item in ("", item) and today <= self.until


@dataclass(frozen=True)
class Rules:
    """All that is asked of the outputs."""

    require: tuple[Limit, ...] = ()
    not_worse: tuple[Margin, ...] = ()
    items: tuple[Limit, ...] = ()
    forbid: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    allow: float = 0.0
    waivers: tuple[Waiver, ...] = ()
    needs_baseline: bool = False

    @property
    def specs(self) -> tuple[str, ...]:
        """The metrics that have to be measured."""
        limits = [limit.spec for limit in (*self.require, *self.items)]
        return tuple(dict.fromkeys([*limits, *(margin.spec for margin in self.not_worse)]))

    @property
    def empty(self) -> bool:
        return not (self.require or self.not_worse or self.items or self.forbid or self.words)

    def waived(self, rule: str, item: str, today: datetime.date) -> str:
        """The reason for which a finding is let pass; nothing where it is not. A rule for the corpus has no item."""
        return next((waiver.reason for waiver in self.waivers if waiver.covers(rule, item, today)), "")

    def with_more(self, require: Iterable[str] = (), not_worse: Iterable[str] = ()) -> "Rules":
        """The rules with some from the command line."""
        limits, margins = tuple(map(Limit.parse, require)), tuple(map(Margin.parse, not_worse))
        return replace(self, require=self.require + limits, not_worse=self.not_worse + margins)


_TABLES: Mapping[str, frozenset[str]] = {
    "corpus": frozenset({"require", "not_worse_than", "baseline"}),
    "items": frozenset({"require", "forbid", "never", "words", "allow"}),
}


def chosen(rules: "str | Path | Rules | None", name: str | None) -> Rules:
    """The rules of a file or of a preset; a file may begin with a preset itself, and then adds to it."""
    if rules is not None and name is not None:
        raise BadInput('Pass rules= or preset=, not both. A rules file can begin with a preset: preset = "plain"')
    if isinstance(rules, Rules):
        return rules
    if rules is not None:
        return read(read_toml(rules), where=str(rules))
    return preset(name) if name is not None else Rules()


@cache
def preset(name: str) -> Rules:
    """The rules of a preset; its limits are explained in docs/gate.md."""
    return read(tomllib.loads(preset_text(name)), where=f"the preset {name}")


def preset_text(name: str) -> str:
    """A preset as a commented rules file."""
    if name not in PRESETS:
        raise UnknownName("preset", name, PRESETS, see="plainly gate --help")
    return files("plainly.checks").joinpath("presets", f"{name}.toml").read_text(encoding="utf-8")


def read(written: Mapping[str, Any], *, where: str) -> Rules:
    """Rules as TOML has them, every key checked."""
    check_keys(written, {"preset", "waive", *_TABLES}, where)
    base = preset(_text(written.get("preset"), f"{where}: preset")) if "preset" in written else Rules()
    corpus, items = (_table(written, name, where) for name in ("corpus", "items"))
    chosen = {name: _codes(items, name, where) for name in ("forbid", "never")}
    return Rules(
        require=base.require + tuple(map(Limit.parse, _texts(corpus, "require", where))),
        not_worse=base.not_worse + tuple(map(Margin.parse, _texts(corpus, "not_worse_than", where))),
        items=base.items + tuple(map(Limit.parse, _texts(items, "require", where))),
        forbid=tuple(dict.fromkeys((*base.forbid, *chosen["forbid"], *chosen["never"]))),
        never=tuple(dict.fromkeys((*base.never, *chosen["never"]))),
        words=base.words + tuple(_texts(items, "words", where)),
        allow=_share(items["allow"], where) if "allow" in items else base.allow,
        needs_baseline=base.needs_baseline or corpus.get("baseline") == "needed",
        waivers=base.waivers + tuple(_waiver(entry, where) for entry in _list(written.get("waive", []), where)),
    )


def _metric(written: str) -> tuple[str, str]:
    """The spec and the output of ``metric.output``; without one, the headline."""
    spec, dot, output = written.rpartition(".")
    if not dot or ")" in output or not output.isidentifier():
        spec, output = written, ""
    metric = registry.metric(spec)
    if output and output not in metric.outputs:
        known = ", ".join(metric.outputs)
        raise BadInput(f"{spec} has no output {output!r}.{did_you_mean(output, metric.outputs)} It has: {known}")
    return spec, output or metric.outputs[0]


def _table(written: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    table = written.get(name, {})
    if not isinstance(table, dict):
        raise BadInput(f"{where}: {name} is a table, [{name}].")
    check_keys(table, _TABLES[name], f"{where}, [{name}]")
    return table


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{where} is a text in quotation marks, not {value!r}.")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadInput(f"{where}: {value!r} should be a list.")
    return value


def _texts(table: Mapping[str, Any], key: str, where: str) -> Sequence[str]:
    return [_text(value, f"{where}: each of {key!r}") for value in _list(table.get(key, []), f"{where}: {key}")]


def _codes(table: Mapping[str, Any], key: str, where: str) -> Sequence[str]:
    codes = _texts(table, key, where)
    for code in codes:
        if code not in FAULTS:
            raise UnknownName(f"fault in {where},", code, FAULTS, see="plainly gate --help")
    return codes


def _share(value: Any, where: str) -> float:
    text = f"{value}"
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise BadInput(f'{where}: allow is a share of the outputs, from "0%" to less than "100%", not {value!r}.')
    return share


def _waiver(entry: Any, where: str) -> Waiver:
    if not isinstance(entry, dict):
        raise BadInput(f"{where}: a waiver is a table, [[waive]].")
    check_keys(entry, {item.name for item in fields(Waiver)}, f"{where}, [[waive]]")
    until = entry.get("until")
    if isinstance(until, datetime.datetime) or not isinstance(until, datetime.date):
        raise BadInput(f"{where}: a waiver ends on a date, until = 2030-01-31; this one has {until!r}.")
    texts = {name: _text(entry.get(name), f"{where}: a waiver's {name}") for name in ("rule", "reason")}
    return Waiver(until=until, item=str(entry.get("item", "")), **texts)
