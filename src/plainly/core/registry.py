"""Names of metrics, and specs such as ``sari(variant=hf)``, which are parsed here into metrics."""

import contextlib
import dataclasses
import inspect
import pkgutil
import re
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, cast

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
    "ter": "plainly.metrics.bleu:Ter",
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
    "splits": "plainly.metrics.edits:Splits",
    "length": "plainly.metrics.readability:Length",
    "lexical": "plainly.metrics.readability:Lexical",
    "coverage": "plainly.metrics.documents:Coverage",
    "coherence": "plainly.metrics.documents:Coherence",
    "doc-sle": "plainly.learned.sle:DocSle",
    "command": "plainly.metrics.command:Command",
    "sle": "plainly.learned.sle:Sle",
    "quality": "plainly.learned.quality:Quality",
    "fluency": "plainly.learned.quality:Fluency",
    "cefr": "plainly.learned.cefr:Cefr",
    "meaning": "plainly.learned.quality:Meaning",
    "facts": "plainly.factcheck.pairs:Facts",
    "sle-multilingual": "plainly.learned.multilingual:SleMultilingual",
    "meaning-multilingual": "plainly.learned.multilingual:MeaningMultilingual",
    "judge": "plainly.learned.jury.judge:Judge",
    "jury": "plainly.learned.jury.panel:Jury",
    "judge-pairs": "plainly.learned.jury.pairs:JudgePairs",
    "samsa": "plainly.learned.events:Samsa",
    "sle-published": "plainly.learned.adapters.models:PublishedSle",
    "cefr-published": "plainly.learned.adapters.models:PublishedCefr",
    "meaningbert": "plainly.learned.adapters.models:MeaningBert",
    "entailment": "plainly.learned.adapters.models:Entailment",
    "regressor": "plainly.learned.adapters.models:Regressor",
    "bertscore": "plainly.learned.adapters.bertscore:BertScore",
    "lens": "plainly.learned.adapters.lens:Lens",
    "lens-salsa": "plainly.learned.adapters.lens:LensSalsa",
    "questeval": "plainly.learned.adapters.questeval:QuestEval",
}
ENTRY_POINT_GROUP = "plainly.metrics"

# Names as the literature writes them, for pages and plots. A metric without an entry is shown by its name.
_DISPLAY_NAMES = {
    "sari": "SARI",
    "bleu": "BLEU",
    "ibleu": "iBLEU",
    "tbleu": "T-BLEU",
    "fkbleu": "FKBLEU",
    "chrf": "chrF",
    "ter": "TER",
    "fkgl": "FKGL",
    "flesch": "Flesch Reading Ease",
    "ari": "ARI",
    "coleman_liau": "Coleman–Liau",
    "smog": "SMOG",
    "gunning_fog": "Gunning Fog",
    "levenshtein": "Levenshtein",
    "sle": "SLE",
    "doc-sle": "Doc-SLE",
    "sle-multilingual": "SLE (multilingual)",
    "sle-published": "SLE (published model)",
    "cefr": "CEFR",
    "cefr-published": "CEFR (published model)",
    "samsa": "SAMSA",
    "meaningbert": "MeaningBERT",
    "bertscore": "BERTScore",
    "lens": "LENS",
    "lens-salsa": "LENS-SALSA",
    "questeval": "QuestEval",
}

_REQUIRED = ("name", "needs", "better", "outputs", "measure", "score")
_SPEC = re.compile(r"\s*([\w.+-]+)\s*(?:\((.*)\)(?:\.([\w-]+))?)?\s*", re.DOTALL)
_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def names() -> tuple[str, ...]:
    """Return every metric name that can be used in a spec, built in or from an installed plug-in."""
    return tuple(sorted({*METRICS, *_plugins()}))


def metric_class(name: str) -> type[Metric]:
    """Return the class behind a name, with the declarations that a class of a plug-in may leave out."""
    cls: type[Any] = pkgutil.resolve_name(METRICS[name]) if name in METRICS else _load_plugin(name)
    if issubclass(cls, Metric):
        return cls
    return type(cls.__name__, (cls, Metric), {"__doc__": cls.__doc__, "__module__": cls.__module__})


def display_name(spec: str) -> str:
    """Return the name of a metric for a page or a plot, with its parameters.

    >>> display_name("sari"), display_name("chrf(word_order=2)"), display_name("sle.output"), display_name("my-metric")
    ('SARI', 'chrF (word_order=2)', 'SLE: output', 'my-metric')
    """
    match = _SPEC.fullmatch(spec)
    if match is None:
        return spec
    name, arguments, headline = match[1], match[2], match[3]
    if headline is None and name not in METRICS and "." in name and name.partition(".")[0] in METRICS:
        name, _, headline = name.partition(".")
    title = _DISPLAY_NAMES.get(name, name)
    return title + (f" ({arguments})" if arguments else "") + (f": {headline}" if headline else "")


def sentence_encoder() -> Callable[[Sequence[str]], Sequence[Floats]]:
    """Return the function that turns sentences into vectors, for metrics that align by meaning."""
    return cast("Callable[[Sequence[str]], Sequence[Floats]]", pkgutil.resolve_name("plainly.learned.encoder:embed"))


def label_operations(sources: Sequence[str], outputs: Sequence[str]) -> list[Collection[str]]:
    """Return the labels of the operations between each source and its output, by rules, for subsets of items."""
    labeller = pkgutil.resolve_name("plainly.typology.labeller:labeller")("rules")
    return [pair.labels for pair in labeller.label(list(sources), list(outputs))]


def describe_operation(label: str) -> str:
    """Return the label of an operation with its meaning, for tables and sentences about subsets."""
    return f"{label} ({pkgutil.resolve_name('plainly.typology.vocabulary:operation')(label).title})"


def _load_plugin(name: str) -> type[Any]:
    """Return the class of a metric that an installed package provides."""
    target = _plugins().get(name)
    if target is None:
        raise UnknownName("metric", name, names(), see="plainly metrics")
    try:
        target_class: type[Any] = pkgutil.resolve_name(target)
        if not (isinstance(target_class, type) and dataclasses.is_dataclass(target_class)):
            raise TypeError("it is not a class made with @dataclass")
        missing = [part for part in _REQUIRED if not hasattr(target_class, part)]
        if missing or inspect.isabstract(target_class):
            raise TypeError(f"it has no {(missing or sorted(target_class.__abstractmethods__))[0]}")
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # SystemExit too: importing a plug-in must not end plainly
        why = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise BrokenPlugin(
            f"The metric {name!r} comes from a plug-in ({target}) that cannot be loaded: {why}. Fix or uninstall the "
            "plug-in."
        ) from error
    return target_class


def metrics(specs: Metrics) -> dict[str, Metric]:
    """Resolve specs to metrics, by spec as it was written; metrics are returned unchanged."""
    if isinstance(specs, Mapping):
        return {spec: metric(resolved) for spec, resolved in specs.items()}
    by_spec = {}
    for spec in split_specs(specs) if isinstance(specs, str) else specs:
        resolved = metric(spec)
        by_spec[spec if isinstance(spec, str) else repr(resolved)] = resolved
    return by_spec


def metric(spec: str | Metric | object) -> Metric:
    """Return the metric that a spec names. A metric is returned unchanged; an object with its methods is adapted."""
    if isinstance(spec, Metric):
        return spec
    if not isinstance(spec, str):
        return AdaptedMetric(spec)
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise BadSpec(f"Cannot read the metric {spec!r}. Write a name, or name(parameter=value,…): sari(variant=hf)")
    name, arguments, headline = match[1], match[2], match[3]
    if headline is None and "." in name.rstrip(".") and name not in names():
        name, _, headline = name.rpartition(".")
    cls: type[Any] = pkgutil.resolve_name(METRICS[name]) if name in METRICS else _load_plugin(name)
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    hints = typing.get_type_hints(cls)
    values: dict[str, Any] = {}
    for argument in split_specs(arguments or ""):
        key, equals, text = (part.strip() for part in argument.partition("="))
        if not equals:
            raise BadSpec(f"In {spec!r}, {argument!r} is not of the form parameter=value.")
        if key not in fields:
            parameters = ", ".join(fields) or "none"
            raise BadSpec(f"{name} has no parameter {key!r}.{did_you_mean(key, fields)} Its parameters: {parameters}")
        if key in values:
            raise BadSpec(f"In {spec!r}, {key!r} is set twice.")
        values[key] = _value(text, hints[key], where=f"{name}({key}=…)")
    instance = metric(cls(**values))
    return OutputMetric(instance, headline) if headline else instance


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
    numbers = [kind for kind in (int, float) if kind in kinds]
    for kind in numbers:
        with contextlib.suppress(ValueError):
            return kind(text)
    if numbers:
        raise BadSpec(f"{where} is a number, not {text!r}.")
    return text


def _kinds(hint: Any) -> Iterator[type]:
    """Yield the types that a hint allows."""
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        yield from map(type, typing.get_args(hint))
    elif origin in (typing.Union, types.UnionType):
        yield from chain.from_iterable(map(_kinds, typing.get_args(hint)))
    else:
        yield hint


def _plugins() -> dict[str, str]:
    from importlib.metadata import entry_points

    try:
        return {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    except Exception:  # the metadata of some installed package is damaged
        return {}
