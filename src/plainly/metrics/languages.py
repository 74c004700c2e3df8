"""In which languages a metric works, and the same metric in the language of the texts.

A metric of plainly says so in evidence.toml, any other by its attribute ``languages``: codes separated by spaces,
``any``, or ``model`` where that depends on the model it is given.
"""

from collections.abc import Mapping
from typing import Any

from plainly.core import registry
from plainly.core.errors import PlainlyError
from plainly.core.metric import Metric
from plainly.metrics.evidence import evidence
from plainly.text.languages.detection import named

ANY, OF_MODEL = "any", "model"


def stated(metric: Metric | type[Any]) -> str:
    """What a metric says of its languages; "" where it says nothing."""
    return metric.languages or evidence(metric).languages


def works_in(metric: Metric, language: str) -> bool:
    """Whether a metric, as it is set, says that it works in a language; one that says nothing is believed to."""
    chosen = metric.language or stated(metric)
    return chosen in ("", ANY, OF_MODEL) or language in chosen.split()


def in_language(metric: Metric, language: str, spec: str = "") -> Metric:
    """The metric in this language, where it has a choice of languages and none was made, in ``spec`` or its fields."""
    if metric.language in ("", language) or language not in stated(metric).split():
        return metric
    if "language" in spec.partition("(")[2] or "language=" in repr(metric):
        return metric
    return metric.in_language(language)


def asked_as(spec: str, metrics: Mapping[str, Metric]) -> str:
    """The key of the metric that was asked for by this spec before a language was put in; the spec if there is none."""
    try:
        written = registry.metric(spec)
        return next((key for key, of in metrics.items() if in_language(written, of.language, spec) == of), spec)
    except PlainlyError:
        return spec


def shown(metric: Metric | type[Any]) -> str:
    """The languages of a metric in words."""
    codes = stated(metric)
    if codes in ("", ANY, OF_MODEL):
        return {"": "not stated", ANY: "any", OF_MODEL: "those of the model"}[codes]
    return ", ".join(map(named, codes.split()))


def made_for(language: str) -> tuple[str, ...]:
    """The metrics that are made for this language, which those that work in any are not."""
    names = [name for name in registry.METRICS if language in stated(registry.metric_class(name)).split()]
    return tuple(names)
