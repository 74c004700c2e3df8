"""Evidence about each metric: what it measures, what it does not, the papers, and the languages in which it works.

Metrics of plainly have an entry in evidence.toml. Others state their languages in the attribute ``languages``: codes
separated by spaces, ``any``, or ``model`` where they depend on the model.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any

from plainly.core import registry
from plainly.core.errors import PlainlyError, UnknownName
from plainly.core.files import read_shipped
from plainly.core.formatting import number
from plainly.core.metric import Metric
from plainly.core.result import Table
from plainly.text.languages.detection import language_name

# The parameters of metrics that name a model or a parser.
_MODELS = ("model", "checkpoint", "encoder", "parser", "qa", "qg", "bertscore", "weighter", "answers")


@dataclass(frozen=True)
class Paper:
    """A paper: its name in a sentence, its address and its BibTeX."""

    key: str
    short: str
    url: str
    bibtex: str


@dataclass(frozen=True)
class Agreement:
    """How far a part of a metric agrees with people on one kind of output: Pearson, with a 95 % interval over items.

    ``rater`` is the agreement of one person with the mean of the others on the same outputs, where ratings are single.
    """

    kind: str  # who wrote the outputs: statistical, neural, language-models or people
    part: str
    set: str
    n: int
    pearson: float
    low: float
    high: float
    rater: float | None = None
    unit: str = "sentences"

    @property
    def writers(self) -> str:
        """Who wrote the outputs, in words."""
        return f"{self.kind} systems" if self.kind in _SYSTEMS else self.kind.replace("-", " ")

    @property
    def interval(self) -> str:
        return f"{number(self.low, page=True)} to {number(self.high, page=True)}"


_SYSTEMS = ("statistical", "neural")
KINDS = (*_SYSTEMS, "language-models", "people")


@dataclass(frozen=True)
class Evidence:
    """What a metric measures and misses, advice beside its scores, papers, the page with details, its languages.

    ``cite`` are the papers that describe the metric as it is computed here, ``after`` those whose idea it follows with
    a model or parser of its own instead of the published one.
    """

    measures: str
    blind: str
    advice: str = ""
    papers: tuple[Paper, ...] = ()
    page: str = ""
    languages: str = ""
    unit: str = "a text of any length"  # what one item may be
    cite: tuple[Paper, ...] = ()
    after: tuple[Paper, ...] = ()
    agreement: tuple[Agreement, ...] = ()


@cache
def papers() -> dict[str, Paper]:
    """Return all papers by key."""
    return {key: Paper(key, **entry) for key, entry in read_shipped(__file__, "papers.toml").items()}


@cache
def all_evidence() -> dict[str, Evidence]:
    """Return the evidence about plainly's own metrics, by name."""

    def build(entry: dict[str, Any]) -> Evidence:
        lists = {key: tuple(papers()[paper] for paper in entry.get(key, ())) for key in ("papers", "cite", "after")}
        return Evidence(**entry | lists | {"agreement": tuple(Agreement(**row) for row in entry.get("agreement", ()))})

    entries = {name: build(entry) for name, entry in read_shipped(__file__, "evidence.toml").items()}
    for name in ("fluency", "meaning"):  # metrics that are parts of quality
        rows = tuple(row for row in entries["quality"].agreement if row.part == name)
        entries[name] = replace(entries[name], agreement=rows)
    return entries


def evidence(metric: Metric | type[Any]) -> Evidence:
    """Return the evidence about a metric or its class; a metric of a plug-in has it in its attribute ``evidence``."""
    cls = metric if isinstance(metric, type) else type(metric.definition)
    if cls.__module__.startswith("plainly.") and metric.name in all_evidence():
        # A variant may have an entry of its own.
        return all_evidence().get(f"{metric.name}(variant={metric.variant})", all_evidence()[metric.name])
    summary = " ".join((metric.__doc__ or "").strip().partition("\n\n")[0].split())
    return Evidence(
        summary or f"{metric.name}: its author gives no description.",
        metric.evidence or "plainly has no study of it. Audit it before you rely on it.",
        advice=metric.evidence,
    )


def check_kind(kind: str | None) -> None:
    """Raise unless a kind of output is known; None is all kinds."""
    if kind is not None and kind not in KINDS:
        raise UnknownName("kind of output", kind, KINDS, see="plainly metrics --help")


def find_agreement(metric: Metric | type[Any], kind: str | None = None) -> tuple[Agreement, ...]:
    """Return how far a metric agrees with people on outputs of one kind, or of all.

    That is known for shipped models, and for metrics that carry it themselves, such as calibrated judges.
    """
    if isinstance(metric, Metric) and (own := metric.measured_agreement()):
        about = {"kind": "rated systems", "unit": "outputs", "low": math.nan, "high": math.nan}
        return tuple(Agreement(**{**about, **row}) for row in own)
    rows = evidence(metric).agreement
    if isinstance(metric, Metric) and not uses_shipped_model(metric):
        return ()
    return tuple(row for row in rows if kind in (None, row.kind))


def tabulate_agreement(rows: Sequence[Agreement]) -> Table:
    """Return the agreement with people as a table; the notes name its weakest row and what was not measured."""
    header = ("outputs of", "part", "ratings", "n", "Pearson", "95 % interval", "one more rater")
    cells = tuple(
        (
            f"{row.writers}, {row.unit}", row.part, row.set, f"{row.n:,}",
            number(row.pearson, page=True), row.interval, number(row.rater, page=True),
        )
        for row in rows
    )  # fmt: skip
    weakest = min(rows, key=lambda row: row.pearson)
    rater = "" if weakest.rater is None else f"; one more rater has {number(weakest.rater, page=True)}"
    remark = (
        f"The agreement with people is weakest for {weakest.part} on outputs of {weakest.writers} ({weakest.set}): "
        f"{number(weakest.pearson, page=True)}, interval {weakest.interval}{rater}."
    )
    notes = (remark, "No ratings of whole documents were available.")
    return Table(header, cells, "Agreement with people", notes, text_columns=frozenset({0, 1, 2}))


def describe_for_methods(metric: Metric, spec: str) -> str:
    """Describe the metric for a paper's methods section: its variant, its models, and the papers that describe it.

    Papers that only discuss it are left out; weights other than the published ones are mentioned.
    """
    about = evidence(metric)
    values = {name: getattr(metric.definition, name) for name in ("variant", *_MODELS) if name in metric.defaults}
    texts = {name: value for name, value in values.items() if value and isinstance(value, str)}
    parts = [f"{name} {value}" + (", made for plainly" if _is_shipped(value) else "") for name, value in texts.items()]
    others = [name for name, value in texts.items() if name in _MODELS and metric.defaults[name] not in ("", value)]
    if citation := " and ".join(paper.short for paper in about.cite):
        parts.append(f"as in {citation}, but with another {' and '.join(others)}" if others else citation)
    if about.after:
        parts.append(f"after {' and '.join(paper.short for paper in about.after)}, not as published there")
    return f"{spec} ({'; '.join(parts)})" if parts else spec


def uses_shipped_model(metric: Metric) -> bool:
    """Whether a metric uses a model that was made for plainly, as opposed to a published one."""
    return _is_shipped(metric.model or "")


def _is_shipped(model: str) -> bool:
    return model.startswith("plainly-")


ANY, OF_MODEL = "any", "model"


def stated_languages(metric: Metric | type[Any]) -> str:
    """Return the languages that a metric states; "" where it states none."""
    return metric.languages or evidence(metric).languages


def works_in(metric: Metric, language: str) -> bool:
    """Whether a metric with its parameters works in a language; one that states no languages is assumed to."""
    languages = metric.language or stated_languages(metric)
    return languages in ("", ANY, OF_MODEL) or language in languages.split()


def in_language(metric: Metric, language: str, spec: str = "") -> Metric:
    """Return the metric for this language, if it has a choice of languages and ``spec`` and its fields make none."""
    has_choice = is_dataclass(metric) and any(field.name == "language" for field in fields(metric))
    if not has_choice or metric.language == language or language not in stated_languages(metric).split():
        return metric
    if "language" in spec.partition("(")[2] or "language=" in repr(metric):
        return metric
    return metric.in_language(language)


def find_key(spec: str, metrics: Mapping[str, Metric]) -> str:
    """Return the key of the metric of this spec, which may have a language that the spec lacks; or else the spec."""
    try:
        metric = registry.metric(spec)
        return next((key for key, other in metrics.items() if in_language(metric, other.language, spec) == other), spec)
    except PlainlyError:
        return spec


def describe_languages(metric: Metric | type[Any]) -> str:
    """Return the languages of a metric in words."""
    codes = stated_languages(metric)
    if codes in ("", ANY, OF_MODEL):
        return {"": "not stated", ANY: "any", OF_MODEL: "those of the model"}[codes]
    return ", ".join(map(language_name, codes.split()))


def metrics_for_language(language: str) -> tuple[str, ...]:
    """Return the metrics that are made for this language, without those that work in any."""
    return tuple(name for name in registry.METRICS if language in stated_languages(registry.metric_class(name)).split())
