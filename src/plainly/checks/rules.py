"""Rules for the corpus, for the difference from a baseline, and for every output.

A rule is a line of text, ``quality >= 55`` or ``edits.copies <= 1%``, written in the same way in a rules file, on the
command line and on a page. Rules files are TOML; ``plainly gate init`` writes one with comments.
"""

import datetime
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import structs

from plainly.core import registry
from plainly.core.errors import BadInput, UnknownName, check_text, did_you_mean
from plainly.core.formatting import listed
from plainly.core.settings import Number, Settings, convert_settings, read_toml
from plainly.factcheck.reading import Outcome
from plainly.io.faults import output_faults
from plainly.text.languages import detection

Side = Literal[">=", "<="]
FactRule = Literal["block", "review", "ignore"]
FailOn = Literal["block", "review"]
_LIMIT = re.compile(r"\s*(?P<metric>[^<>=()]+(?:\([^()]*\))?(?:\.\w+)?)\s*(?P<side>>=|<=|>|<)\s*(?P<limit>\S+)\s*")
LEVELS = {"A1": 1.0, "A2": 2.0, "B1": 3.0, "B2": 4.0, "C1": 5.0, "C2": 6.0}
# Faults of an output that need no metric: those of the doctor, and these.
EMPTY, OPEN_END, LANGUAGE, WORDS = "empty", "open-end", "language", "words"
MISALIGNED, COPY, LEVEL, FACTS = "misaligned", "copy", "level", "facts"
UNFINISHED, CAPITALS, UNRELATED, NOTHING_SHARED = "unfinished", "capitals", "unrelated", "no-shared-word"
FAULTS = (EMPTY, *output_faults.CHECKS, OPEN_END, CAPITALS, UNRELATED, NOTHING_SHARED, LANGUAGE, MISALIGNED)
# The share that ``allow`` grants is about style. No output may have one of these, or change a fact.
NEVER = (EMPTY, "refusal", UNFINISHED, UNRELATED, LANGUAGE, MISALIGNED)
PRESETS = ("plain", "easy", "never-worse", "quick")


@dataclass(frozen=True)
class Limit:
    """A limit on an output of a metric: ``meaning >= 40``. A limit in percent is a share of the items."""

    text: str
    spec: str
    output: str
    side: Side
    value: float
    percent: bool = False
    outcome: Outcome = "block"

    @classmethod
    def parse(cls, text: str, outcome: Outcome = "block") -> "Limit":
        match = _LIMIT.fullmatch(text)
        if match is None:
            raise BadInput(f"Cannot read the rule {text!r}. Write METRIC >= NUMBER or METRIC.OUTPUT <= NUMBER%.")
        spec, output = _resolve_output(match["metric"].strip())
        side: Side = ">=" if match["side"].startswith(">") else "<="
        limit = match["limit"]
        percent = limit.endswith("%")
        try:
            value = LEVELS.get(limit.upper()) or float(limit.removesuffix("%"))
        except ValueError:
            raise BadInput(f"In the rule {text!r}, {limit!r} is not a number.") from None
        if not math.isfinite(value):
            raise BadInput(f"In the rule {text!r}, {limit!r} is not a finite number.")
        return cls(" ".join(text.split()), spec, output, side, value, percent, outcome)

    @property
    def subject(self) -> str:
        """What the limit is about: a metric, or a part of it by its own name."""
        metric = registry.metric(self.spec)
        if self.output == metric.outputs[0]:
            return self.spec
        return self.output if self.output in registry.METRICS else f"{self.spec}.{self.output}"

    def holds(self, value: float) -> bool:
        """Return whether a number is within the limit; an undefined one is not."""
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
        try:
            baseline, name, number = text.rsplit(":", 2)
            margin = float(number)
        except ValueError:
            baseline, name, margin = "", "", math.nan
        if not baseline or not 0 <= margin < math.inf:
            raise BadInput(f"Cannot read {text!r}. Write BASELINE:METRIC:MARGIN, for example baseline.jsonl:sari:0.5")
        spec, output = _resolve_output(name.strip())
        if output != registry.metric(spec).outputs[0]:
            raise BadInput(f"{name!r}: a baseline is compared by a metric's headline. Name the metric alone.")
        if registry.metric(spec).better == "neither":
            raise BadInput(f"Neither high nor low values of {spec} are better, so no system can be worse on it.")
        return cls(text, baseline, spec, margin)

    @property
    def rule(self) -> str:
        """The rule in words."""
        return f"{self.spec} not worse than {self.baseline} by more than {self.margin:g}"


class Waiver(Settings, frozen=True):
    """A finding that is ignored, why, and until when."""

    rule: str
    reason: str
    until: datetime.date
    item: str | int = ""  # "" for all items

    def __post_init__(self) -> None:
        if not self.rule.strip() or not self.reason.strip():
            raise ValueError("a waiver names its rule and its reason.")

    def covers(self, rule: str, item: str, today: datetime.date) -> bool:
        return self.rule == rule and self.item in ("", item) and today <= self.until


@dataclass(frozen=True)
class Rules:
    """All rules for some outputs; ``languages`` has the rules that hold in one language only.

    Where there are rules for some languages, texts in others are refused.
    """

    require: tuple[Limit, ...] = ()
    not_worse: tuple[Margin, ...] = ()
    items: tuple[Limit, ...] = ()
    copies: tuple[Limit, ...] = ()  # what an output must be if it is its source, or nearly
    facts: FactRule = "ignore"
    doubts: str = ""  # the metric that decides which facts to review pass: 100 for yes, 0 for no
    forbid: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    allow: float = 0.0
    waivers: tuple[Waiver, ...] = ()
    needs_baseline: bool = False
    languages: Mapping[str, "Rules"] = field(default_factory=dict)
    name: str = ""  # of the preset

    def __post_init__(self) -> None:
        if self.doubts:
            registry.metric(self.doubts)  # raises if there is no such metric

    @property
    def specs(self) -> tuple[str, ...]:
        """The metrics that have to be measured on every item."""
        limits = [limit.spec for limit in (*self.require, *self.items)]
        return tuple(dict.fromkeys([*limits, *(margin.spec for margin in self.not_worse)]))

    @property
    def is_empty(self) -> bool:
        lists = (self.require, self.not_worse, self.items, self.copies, self.forbid, self.words, self.languages)
        return not any(lists) and self.facts == "ignore"

    @property
    def needs_language(self) -> bool:
        """Whether the rules depend on the language of the texts."""
        return bool(self.languages) or LANGUAGE in self.forbid

    def is_tolerated(self, rule: str) -> bool:
        """Return whether ``allow`` covers a rule: whether it is about style."""
        return rule not in (*NEVER, *self.never) and not rule.startswith(f"{FACTS}.")

    def waiver_reason(self, rule: str, item: str, today: datetime.date) -> str:
        """Return the reason for which a finding is waived, or ""; a rule for the corpus has no item."""
        return next((waiver.reason for waiver in self.waivers if waiver.covers(rule, item, today)), "")

    def with_more(self, require: Iterable[str] = (), not_worse: Iterable[str] = ()) -> "Rules":
        """Return the rules with some more, each given as text."""
        limits, margins = tuple(map(Limit.parse, require)), tuple(map(Margin.parse, not_worse))
        return replace(self, require=self.require + limits, not_worse=self.not_worse + margins)

    def for_language(self, code: str | None) -> "Rules":
        """Return the rules for texts in a language, or raise an error if there are none for it."""
        if not self.languages:
            return self
        names = listed([detection.language_name(own) for own in self.languages])
        which = f"The preset {self.name}" if self.name else "This rules file"
        if code is None:
            raise BadInput(
                f"{which} has rules for {names}, but the language of these texts could not be detected: there are too "
                "few, or they are mixed. Pass language=, or check one language at a time."
            )
        if code not in self.languages:
            raise BadInput(
                f"{which} has rules for {names} only, and these texts are {detection.language_name(code)}. Use the "
                f"preset quick, or write a rules file with a table [language.{code}]. If the detected language is "
                "wrong, pass language=."
            )
        own = self.languages[code]
        more = {
            entry.name: getattr(self, entry.name) + getattr(own, entry.name)
            for entry in fields(self)
            if isinstance(getattr(self, entry.name), tuple)
        }
        facts = self.facts if own.facts == "ignore" else own.facts
        return replace(self, languages={}, facts=facts, doubts=own.doubts or self.doubts, **more)


class CorpusRules(Settings, frozen=True):
    """The table ``[corpus]`` of a rules file."""

    require: tuple[str, ...] = ()
    not_worse_than: tuple[str, ...] = ()
    baseline: Literal["", "needed"] = ""


class ItemRules(Settings, frozen=True):
    """The table ``[items]`` of a rules file: what blocks an output, what asks for review, and what is allowed."""

    require: tuple[str, ...] = ()
    review: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    facts: FactRule | None = None
    doubts: str = ""
    forbid: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    allow: str | Number | None = None

    def __post_init__(self) -> None:
        for code in (*self.forbid, *self.never):
            if code not in FAULTS:
                raise ValueError(f"unknown fault {code!r}.{did_you_mean(code, FAULTS)} Allowed: {', '.join(FAULTS)}.")
        if not all(word.strip() for word in self.words):
            raise ValueError("words must not be empty.")
        if not 0 <= (self.share or 0) < 1:
            raise ValueError(f'allow must be a share, from "0%" to less than "100%", not {self.allow!r}.')

    @property
    def share(self) -> float | None:
        """The share of outputs that may break a rule; NaN where it is not a number."""
        if self.allow is None:
            return None
        text = f"{self.allow}"
        try:
            return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            return math.nan


class LanguageRules(Settings, frozen=True):
    """The table ``[language.CODE]`` of a rules file: rules for texts in one language."""

    corpus: CorpusRules = CorpusRules()
    items: ItemRules = ItemRules()


class RulesFile(Settings, frozen=True):
    """The contents of a rules file; with a preset, it adds to the preset's rules."""

    preset: str | None = None
    corpus: CorpusRules = CorpusRules()
    items: ItemRules = ItemRules()
    language: dict[str, LanguageRules] = msgspec.field(default_factory=dict)
    waive: tuple[Waiver, ...] = ()


def resolve_rules(rules: "str | Path | Rules | None", preset: str | None) -> Rules:
    """Load the rules of a file or of a preset; a file may begin with a preset itself, and then adds to it."""
    if rules is not None and preset is not None:
        raise BadInput('Pass rules= or preset=, not both. A rules file can begin with a preset: preset = "plain"')
    if isinstance(rules, Rules):
        return rules
    if rules is not None:
        return convert_rules(read_toml(rules), where=str(rules))
    if preset is None:
        return Rules()
    check_text("preset", preset)
    return load_preset(preset)


@cache
def load_preset(name: str) -> Rules:
    """Load the rules of a preset; its limits are explained in docs/gate.md."""
    return replace(convert_rules(tomllib.loads(preset_text(name)), where=f"the preset {name}"), name=name)


def preset_text(name: str) -> str:
    """Return a preset as a commented rules file."""
    if name not in PRESETS:
        raise UnknownName("preset", name, PRESETS, see="plainly gate --help")
    return (Path(__file__).parent / "presets" / f"{name}.toml").read_text(encoding="utf-8")


def convert_rules(document: object, *, where: str) -> Rules:
    """Convert parsed TOML to rules."""
    file = convert_settings(document, RulesFile, where=where)
    base = load_preset(file.preset) if file.preset is not None else Rules()
    languages = dict(base.languages)
    for code, own in file.language.items():
        languages[detection.check(code)] = _add_rules(languages.get(code, Rules()), own.corpus, own.items)
    waivers = base.waivers + tuple(structs.replace(waiver, item=str(waiver.item)) for waiver in file.waive)
    return replace(_add_rules(base, file.corpus, file.items), waivers=waivers, languages=languages)


def _add_rules(base: Rules, corpus: CorpusRules, items: ItemRules) -> Rules:
    """Return the rules of a file in addition to others."""
    limits = [*map(Limit.parse, items.require), *(Limit.parse(text, "review") for text in items.review)]
    return replace(
        base,
        require=base.require + tuple(map(Limit.parse, corpus.require)),
        not_worse=base.not_worse + tuple(map(Margin.parse, corpus.not_worse_than)),
        items=base.items + tuple(limits),
        copies=base.copies + tuple(map(Limit.parse, items.copies)),
        facts=items.facts or base.facts,
        doubts=items.doubts or base.doubts,
        forbid=tuple(dict.fromkeys((*base.forbid, *items.forbid, *items.never))),
        never=tuple(dict.fromkeys((*base.never, *items.never))),
        words=base.words + items.words,
        allow=base.allow if items.share is None else items.share,
        needs_baseline=base.needs_baseline or corpus.baseline == "needed",
    )


def _resolve_output(name: str) -> tuple[str, str]:
    """Return the spec and the output of ``metric.output``; without an output, the headline."""
    spec, dot, output = name.rpartition(".")
    if not dot or ")" in output or not output.isidentifier():
        spec, output = name, ""
    metric = registry.metric(spec)
    if output and output not in metric.outputs:
        names = ", ".join(metric.outputs)
        raise BadInput(f"{spec} has no output {output!r}.{did_you_mean(output, metric.outputs)} It has: {names}")
    return spec, output or metric.outputs[0]
