"""What is known about a metric, beside every number it gives: what it measures, what it does not, and who found out."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from plainly.core.files import read_shipped
from plainly.core.metric import Metric

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
class Evidence:
    """Two lines on a metric, a word of advice beside its scores, the papers, the page that says more, its languages.

    ``cite`` are the papers in which the metric stands as it is computed here, ``after`` those whose idea it follows
    with a model or parser of its own: what was published there was not used.
    """

    measures: str
    blind: str
    advice: str = ""
    papers: tuple[Paper, ...] = ()
    page: str = ""
    languages: str = ""
    unit: str = "a text of any length"  # what one item may be; nothing is cut in silence
    cite: tuple[Paper, ...] = ()
    after: tuple[Paper, ...] = ()


@cache
def papers() -> dict[str, Paper]:
    """All papers by key."""
    return {key: Paper(key, **entry) for key, entry in read_shipped(__file__, "papers.toml").items()}


@cache
def known() -> dict[str, Evidence]:
    """What is known of plainly's own metrics, by name."""
    lists = ("papers", "cite", "after")
    return {
        name: Evidence(**{**entry, **{key: tuple(papers()[paper] for paper in entry.get(key, ())) for key in lists}})
        for name, entry in read_shipped(__file__, "evidence.toml").items()
    }


def evidence(metric: Metric | type[Any]) -> Evidence:
    """What is known of a metric or its class; a metric of somebody's own may say so itself (``evidence``)."""
    cls = metric if isinstance(metric, type) else type(metric.definition)
    if cls.__module__.startswith("plainly.") and metric.name in known():
        # A variant of which other things are known has an entry of its own.
        return known().get(f"{metric.name}(variant={metric.variant})", known()[metric.name])
    summary = " ".join((metric.__doc__ or "").strip().partition("\n\n")[0].split())
    return Evidence(
        summary or f"{metric.name}: its author says nothing about it.",
        metric.evidence or "No study of it is known to plainly. Audit it before you rely on it.",
        advice=metric.evidence,
    )


def for_methods(metric: Metric, spec: str) -> str:
    """The metric in a paper's methods section: its variant, the models that it used, and the papers that describe it.

    Papers that are only about it are not named, and where other weights than the published were used it says so.
    """
    about = evidence(metric)
    values = {name: getattr(metric.definition, name) for name in ("variant", *_MODELS) if name in metric.defaults}
    used = {name: value for name, value in values.items() if value and isinstance(value, str)}
    parts = [f"{name} {value}" + (", made for plainly" if _shipped(value) else "") for name, value in used.items()]
    others = [name for name, value in used.items() if name in _MODELS and metric.defaults[name] not in ("", value)]
    if cited := " and ".join(paper.short for paper in about.cite):
        parts.append(f"as in {cited}, but with another {' and '.join(others)}" if others else cited)
    if about.after:
        parts.append(f"after {' and '.join(paper.short for paper in about.after)}, not as published there")
    return f"{spec} ({'; '.join(parts)})" if parts else spec


def is_ours(metric: Metric) -> bool:
    """Whether a metric reads with a model that was made for plainly, which is not to be taken for a published one."""
    return _shipped(metric.model or "")


def _shipped(model: str) -> bool:
    return model.startswith("plainly-")
