"""What did systems write, in numbers: texts in, an evaluation out, wherever it was measured."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack, cast, overload

from plainly.core import registry
from plainly.core.arguments import public
from plainly.core.errors import BadInput, way
from plainly.core.metric import Metric
from plainly.core.progress import Progress, unseen
from plainly.core.result import Note
from plainly.core.sampling import DEFAULTS, Sampling, SamplingOptions
from plainly.data import diagnose
from plainly.io.texts import TextArguments, take
from plainly.io.units import with_unit
from plainly.metrics.languages import in_language
from plainly.scoring import references, sanity, subsets
from plainly.scoring.advice import remarks
from plainly.scoring.evaluate import estimated, evaluate
from plainly.scoring.references import Over
from plainly.scoring.scores import Evaluation, SystemScores
from plainly.scoring.streamed import OnError, evaluate_corpus
from plainly.streaming.corpus import Corpus
from plainly.streaming.engines import Engine
from plainly.streaming.engines import engine as engine_of

DEFAULT_METRICS = ("sari", "bleu", "fkgl")
DEFAULT_WITHOUT_REFERENCES = ("fkgl", "edits", "splits")


class Asked(TypedDict, total=False):
    """What to measure, and how: the same for every question that begins with scores.

    ``sampling`` is given whole or as keywords (level, resamples, method, seed); ``intervals=False`` leaves intervals
    out, ``advice=False`` warnings. The rest is for a corpus in files (``open_corpus``): where to
    measure it, what to do with rows that cannot be measured, and where to keep what. ``unit`` says what an item is to
    be: document, paragraph or sentence.
    """

    metrics: str | Sequence[str | Metric] | None
    sampling: Sampling
    intervals: bool
    advice: bool
    progress: Progress
    engine: Engine | str
    processes: int | None
    on_error: OnError
    segments: str | None
    set_aside: str | None
    state: Path | None
    unit: str | None


class ScoreOptions(TextArguments, SamplingOptions, Asked, total=False):
    """What score takes beside its own options."""


class _OptionsWithoutOutputs(SamplingOptions, Asked, total=False):
    sources: Sequence[str]
    references: Sequence[Sequence[str]]
    evalset: Any
    ids: Sequence[str]
    groups: Sequence[str]


@overload
def score(  # type: ignore[overload-overlap]
    data: None = None,
    *,
    outputs: Sequence[str],
    by: None = None,
    sanity: bool = False,
    over: Over = "items",
    **options: Unpack[_OptionsWithoutOutputs],
) -> SystemScores: ...
@overload
def score(
    data: Any = None,
    *,
    by: str | None = None,
    sanity: bool = False,
    over: Over = "items",
    **options: Unpack[ScoreOptions],
) -> Evaluation: ...
@public
def score(
    data: Any = None,
    *,
    by: str | None = None,
    sanity: bool = False,
    over: Over = "items",
    **options: Unpack[ScoreOptions],
) -> Evaluation | SystemScores:
    """Score outputs against sources and references, or against an evaluation set (``plainly.load``).

    ``references`` has one entry for each item: all references of that item. Blank references are left out. With several
    systems the result is by system, then by metric; with one list of outputs, by metric. ``by`` divides the items,
    ``sanity`` adds what a copy and other nonsense score, ``over`` says what intervals are about.
    """
    evaluation = asked(data, **options)
    if sanity:
        evaluation = _with_sanity_rows(evaluation)
    if over != "items" and evaluation.sampling is not None:
        evaluation = references.with_intervals(evaluation, references.draw(evaluation, over=over), over=over)
    if by is not None:
        evaluation = _divided(evaluation, by)
    return evaluation[""] if list(evaluation) == [""] else evaluation


def asked(data: Any = None, *, paired: bool = False, **options: Unpack[ScoreOptions]) -> Evaluation:
    """The evaluation that a question begins with: measured now from texts or files, or handed over."""
    drawing = {name: options.pop(name) for name in DEFAULTS if name in options}  # type: ignore[misc]
    sampling = options.pop("sampling", None) or Sampling(**drawing)
    intervals, advice = options.pop("intervals", True), options.pop("advice", True)
    wanted = sampling if intervals else None
    if isinstance(data, (Evaluation, SystemScores)):
        evaluation = data if isinstance(data, Evaluation) else data.alone
        if options.get("metrics") is not None:
            raise BadInput(f"Saved scores hold the metrics they hold; leave {way('metrics=', '-m')} out.")
        if evaluation.sampling is None or drawing:
            evaluation = estimated(dataclasses.replace(evaluation, sampling=sampling))
        return _with_texts(evaluation, _texts(options))
    metrics, progress = options.pop("metrics", None), options.pop("progress", unseen)
    if isinstance(data, Corpus):
        evaluation = _streamed(
            data, chosen_metrics(metrics, data.has_references, data.language), wanted, progress, paired, options
        )
    else:
        inputs = take(data, **_texts(options))
        if (unit := options.get("unit")) is not None:
            inputs = with_unit(inputs, unit)
        specs = chosen_metrics(metrics, inputs.has_references, inputs.language)
        evaluation = evaluate(inputs.evalset, inputs.outputs, specs, sampling=wanted, progress=progress)
        evaluation = dataclasses.replace(evaluation, taken=inputs.notes)
    return dataclasses.replace(evaluation, advise=advise if advice else None)


def _texts(options: Mapping[str, Any]) -> TextArguments:
    texts = {name: value for name, value in options.items() if name in TextArguments.__annotations__}
    return cast(TextArguments, texts)


def _with_texts(evaluation: Evaluation, texts: TextArguments) -> Evaluation:
    """Saved scores with the texts that were scored, which are not saved with them."""
    if not texts:
        return evaluation
    inputs = take(None, **texts)
    signature = next(iter(next(iter(evaluation.values())).values())).signature
    if signature.data != inputs.evalset.fingerprint:
        raise BadInput(f"These are scores of other texts ({signature}). Name the set that was scored, or score again.")
    missing = [system for system in evaluation if system not in inputs.outputs]
    if missing:
        raise BadInput(f"There are scores of {missing[0]!r}, whose outputs were not given. Name them too.")
    outputs = {system: inputs.outputs[system] for system in evaluation}
    return dataclasses.replace(evaluation, evalset=inputs.evalset, outputs=outputs)


def chosen_metrics(
    metrics: str | Sequence[str | Metric] | None, references: bool, language: str = ""
) -> Sequence[str | Metric]:
    """The metrics that were asked for, or a sensible few, in the language of the texts where they have a choice."""
    if metrics is None:
        metrics = DEFAULT_METRICS if references else DEFAULT_WITHOUT_REFERENCES
        if language not in ("", "en"):
            metrics = ["readability" if spec == "fkgl" else spec for spec in metrics]
    specs = registry.split_specs(metrics) if isinstance(metrics, str) else metrics
    return [in_language(spec, language) for spec in specs] if language else specs


def advise(evaluation: Evaluation) -> list[Note]:
    """What the metrics are known not to see, and what a quick look finds wrong with the texts."""
    notes = remarks(evaluation)
    if evaluation.outputs is not None:
        written = {system: texts for system, texts in evaluation.outputs.items() if not system.startswith("(")}
        notes += diagnose(evaluation.evalset, written, evaluation.specs, quick=True)
    return notes


def _streamed(
    corpus: Corpus,
    metrics: Sequence[str | Metric],
    sampling: Sampling | None,
    progress: Progress,
    paired: bool,
    options: Mapping[str, Any],
) -> Evaluation:
    engine = options.get("engine", "auto")
    hold = True if engine == "memory" else None  # everything is kept, as of texts that are in memory already
    if isinstance(engine, str):
        engine = engine_of(engine, processes=options.get("processes"))
    kept = {name: options[name] for name in ("on_error", "segments", "set_aside", "state") if name in options}
    evaluation = evaluate_corpus(
        corpus, metrics, engine=engine, sampling=sampling, progress=progress, paired=paired, hold=hold, **kept
    )
    if not evaluation.n:
        if not evaluation.complete:
            raise KeyboardInterrupt
        aside = evaluation.reading.set_aside if evaluation.reading else 0
        raise BadInput(f"{corpus.name} has no row that can be measured; {aside} were set aside.")
    if evaluation.outputs is None:
        evaluation = dataclasses.replace(evaluation, taken=_language_of(corpus, evaluation.specs))
    return evaluation


def _language_of(corpus: Corpus, specs: Sequence[str]) -> tuple[Note, ...]:
    """Whether the metrics work in the language of a corpus that is not held, by its first rows."""
    batch = next((batch for part in corpus.parts for batch in part.read(frozenset({"source"}))), None)
    if batch is None:
        return ()
    evalset = dataclasses.replace(batch.evalset, language=corpus.language)
    return tuple(diagnose(evalset, batch.outputs, specs, quick=True, only=("metric-language",)))


def _with_sanity_rows(evaluation: Evaluation) -> Evaluation:
    """The evaluation with rows of nonsense beside the systems, and a held-out reference where there are several."""
    if evaluation.outputs is None:
        raise BadInput("Sanity rows are made from the sources, which are not kept of a corpus too large to hold.")
    seed = (evaluation.sampling or Sampling()).seed
    outputs = sanity.rows(evaluation.evalset, seed=seed)
    rows = evaluate(evaluation.evalset, outputs, evaluation.metrics, sampling=evaluation.sampling)
    joined = dataclasses.replace(
        evaluation, systems={**evaluation.systems, **rows.systems}, outputs={**evaluation.outputs, **outputs}
    )
    if int(evaluation.evalset.reference_counts.max(initial=0)) < 2:
        return joined
    return dataclasses.replace(joined, held_out=sanity.leave_one_out(joined))


def _divided(evaluation: Evaluation, by: str) -> Evaluation:
    if evaluation.outputs is None:
        raise BadInput("Subsets are chosen item by item, and the items of a corpus too large to hold are not kept.")
    divided = subsets.divide(evaluation.evalset, evaluation.outputs, by)
    parts = tuple((subset, subsets.evaluate_subset(evaluation, subset)) for subset in divided)
    return dataclasses.replace(evaluation, by=by, subsets=parts)
