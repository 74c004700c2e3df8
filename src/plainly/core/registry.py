"""Names of metrics and the specs that choose them: ``sari(variant=hf)`` is text that stands for a value."""

import dataclasses
import importlib
import inspect
import re
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from plainly.core.errors import BadSpec, BrokenPlugin, UnknownName, did_you_mean
from plainly.core.metric import AdaptedMetric, Floats, Metric, Metrics, OutputMetric

# Every metric that comes with plainly. Adding one: its class in one file, and its line here.
METRICS = {
    "sari": "plainly.metrics.sari:Sari",
    "bleu": "plainly.metrics.bleu:Bleu",
    "ibleu": "plainly.metrics.bleu:IBleu",
    "tbleu": "plainly.metrics.bleu:TBleu",
    "fkbleu": "plainly.metrics.bleu:FkBleu",
    "chrf": "plainly.metrics.bleu:Chrf",
    "fkgl": "plainly.metrics.readability:Fkgl",
    "flesch": "plainly.metrics.readability:Flesch",
    "ari": "plainly.metrics.readability:Ari",
    "coleman_liau": "plainly.metrics.readability:ColemanLiau",
    "smog": "plainly.metrics.readability:Smog",
    "gunning_fog": "plainly.metrics.readability:GunningFog",
    "readability": "plainly.metrics.readability:Readability",
    "levenshtein": "plainly.metrics.edits:LevenshteinEdits",
    "edits": "plainly.metrics.edits:Edits",
    "compression": "plainly.metrics.edits:Compression",
    "easse-quality": "plainly.metrics.edits:EasseQuality",
    "splits": "plainly.metrics.form:Splits",
    "length": "plainly.metrics.form:Length",
    "lexical": "plainly.metrics.form:Lexical",
    "coverage": "plainly.metrics.documents:Coverage",
    "coherence": "plainly.metrics.documents:Coherence",
    "doc-sle": "plainly.learned.sle:DocSle",
    "command": "plainly.metrics.command:Command",
    "sle": "plainly.learned.sle:Sle",
    "quality": "plainly.learned.quality:Quality",
    "fluency": "plainly.learned.quality:Fluency",
    "cefr": "plainly.learned.cefr:Cefr",
    "meaning": "plainly.learned.quality:Meaning",
    "facts": "plainly.factcheck.metric:Facts",
    "sle-multilingual": "plainly.learned.multilingual:SleMultilingual",
    "meaning-multilingual": "plainly.learned.multilingual:MeaningMultilingual",
    "samsa": "plainly.learned.events:Samsa",
    "sle-published": "plainly.learned.adapters.regressors:PublishedSle",
    "cefr-published": "plainly.learned.adapters.regressors:PublishedCefr",
    "meaningbert": "plainly.learned.adapters.regressors:MeaningBert",
    "entailment": "plainly.learned.adapters.regressors:Entailment",
    "regressor": "plainly.learned.adapters.regressors:Regressor",
    "bertscore": "plainly.learned.adapters.bertscore:BertScore",
    "lens": "plainly.learned.adapters.lens:Lens",
    "lens-salsa": "plainly.learned.adapters.lens:LensSalsa",
    "questeval": "plainly.learned.adapters.questeval:QuestEval",
}
# What packages further down use of packages further up, by name.
_SENTENCE_ENCODER = "plainly.learned.encoder:embed"
_LABELLER = "plainly.typology.labeller:labeller"
ENTRY_POINT_GROUP = "plainly.metrics"

_REQUIRED = ("name", "needs", "better", "outputs", "measure", "score")
_SPEC = re.compile(r"\s*([\w.+-]+)\s*(?:\((.*)\)(?:\.([\w-]+))?)?\s*", re.DOTALL)
_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def names() -> tuple[str, ...]:
    """Every metric name that can be used in a spec, built in or from an installed plug-in."""
    return tuple(sorted({*METRICS, *_plugins()}))


def metric_class(name: str) -> type[Metric]:
    """The class behind a name, with the declarations that a class of a plug-in may leave out."""
    cls = _load(name)
    if issubclass(cls, Metric):
        return cls
    return type(cls.__name__, (cls, Metric), {"__doc__": cls.__doc__, "__module__": cls.__module__})


def sentence_encoder() -> Callable[[Sequence[str]], Sequence[Floats]]:
    """The function that turns sentences into vectors, for metrics that align by meaning."""
    encode: Callable[[Sequence[str]], Sequence[Floats]] = _import(_SENTENCE_ENCODER)
    return encode


def label_operations(sources: Sequence[str], outputs: Sequence[str]) -> list[Collection[str]]:
    """The labels of the operations between each source and its output, by rules, for subsets of items."""
    return [pair.labels for pair in _import(_LABELLER)("rules").label(list(sources), list(outputs))]


def _import(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _load(name: str) -> type[Any]:
    """The class behind a name; its module is imported only now."""
    if name in METRICS:
        cls: type[Any] = _import(METRICS[name])
        return cls
    target = _plugins().get(name)
    if target is None:
        raise UnknownName("metric", name, names(), see="plainly metrics")
    try:
        named = importlib.import_module(target.partition(":")[0])
        for attribute in target.partition(":")[2].split("."):
            named = getattr(named, attribute)
        if not (isinstance(named, type) and dataclasses.is_dataclass(named)):
            raise TypeError("it is not a class made with @dataclass")
        missing = [part for part in _REQUIRED if not hasattr(named, part)]
        if missing or inspect.isabstract(named):
            raise TypeError(f"it has no {(missing or sorted(named.__abstractmethods__))[0]}")
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # SystemExit too: importing a plug-in must not end plainly
        why = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise BrokenPlugin(
            f"The metric {name!r} comes from a plugin ({target}) that cannot be loaded: {why}. Fix or uninstall the "
            "plug-in."
        ) from error
    return named


def metrics(specs: Metrics) -> dict[str, Metric]:
    """Metrics by spec, as each was written; metrics that were resolved before pass through."""
    if isinstance(specs, Mapping):
        return {spec: metric(resolved) for spec, resolved in specs.items()}
    named = {}
    for spec in split_specs(specs) if isinstance(specs, str) else specs:
        resolved = metric(spec)
        named[spec if isinstance(spec, str) else repr(resolved)] = resolved
    return named


def metric(spec: str | Metric | object) -> Metric:
    """The metric that a spec names. A metric passes through; an object with ``measure`` and ``score`` is adapted."""
    if isinstance(spec, Metric):
        return spec
    if not isinstance(spec, str):
        return AdaptedMetric(spec)
    parsed = _SPEC.fullmatch(spec)
    if parsed is None:
        raise BadSpec(f"Cannot read the metric {spec!r}. Write a name, or name(parameter=value,…): sari(variant=hf)")
    name, arguments, headline = parsed[1], parsed[2], parsed[3]
    if headline is None and "." in name.rstrip(".") and name not in names():
        name, _, headline = name.rpartition(".")
    cls = _load(name)
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    hints = typing.get_type_hints(cls)
    values: dict[str, Any] = {}
    for argument in split_specs(arguments or ""):
        key, equals, text = (part.strip() for part in argument.partition("="))
        if not equals:
            raise BadSpec(f"In {spec!r}, {argument!r} is not of the form parameter=value.")
        if key not in fields:
            known = ", ".join(fields) or "none"
            raise BadSpec(f"{name} has no parameter {key!r}.{did_you_mean(key, fields)} Its parameters: {known}")
        if key in values:
            raise BadSpec(f"In {spec!r}, {key!r} is given twice.")
        values[key] = _value(text, hints[key], where=f"{name}({key}=…)")
    built = metric(cls(**values))
    return OutputMetric(built, headline) if headline else built


def split_specs(text: str) -> list[str]:
    """Split at commas that are not inside parentheses: ``sari(variant=hf,delete=f1),bleu`` names two metrics."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth < 0:
                break
        elif character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    if depth != 0:
        raise BadSpec(f"The parentheses in {text!r} do not match.")
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _value(text: str, hint: Any, *, where: str) -> Any:
    kinds = set(_kinds(hint))
    if type(None) in kinds and text.lower() == "none":
        return None
    if bool in kinds:
        if text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        raise BadSpec(f"{where} is true or false, not {text!r}.")
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                if kind is int and float in kinds:
                    continue
                raise BadSpec(f"{where} is a number, not {text!r}.") from None
    return text


def _kinds(hint: Any) -> Iterator[type]:
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        yield from {type(value) for value in typing.get_args(hint)}
    elif origin in (typing.Union, types.UnionType):
        for part in typing.get_args(hint):
            yield from _kinds(part)
    else:
        yield hint


def _plugins() -> dict[str, str]:
    from importlib.metadata import entry_points

    try:
        return {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    except Exception:  # the metadata of some installed package is damaged
        return {}
