"""Score outputs: texts, files or a frame in, an evaluation out, wherever it was measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

from plainly.core.errors import BadInput, check_choice, check_text
from plainly.core.evalset import EvalSet
from plainly.core.metric import Metrics
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note
from plainly.core.sampling import Sampling, check_sampling
from plainly.data import diagnose
from plainly.io.columns import Columns
from plainly.io.evalsets import Incomplete
from plainly.io.texts import Outputs, TextArguments, Texts
from plainly.io.units import Unit
from plainly.scoring import sanity as sanity_rows
from plainly.scoring import subsets
from plainly.scoring.advice import remarks
from plainly.scoring.corpus_evaluation import CorpusOptions, OnError, evaluate_corpus
from plainly.scoring.evaluate import add_intervals, describe_preset, evaluate, resolve_metrics
from plainly.scoring.references import Over, draw_references, with_intervals
from plainly.scoring.scores import Evaluation, ScoreTable, SystemScores
from plainly.streaming.corpus import Corpus
from plainly.streaming.engines import Engine
from plainly.text.languages import detection


def score(
    data: Any = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | Outputs | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    metrics: Metrics | None = None,
    like: str | None = None,
    target: str | float | None = None,
    ids: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    columns: Columns | None = None,
    language: str | None = None,
    incomplete: Incomplete = "refuse",
    unit: Unit | None = None,
    select: Callable[[Texts], Texts] | None = None,
    intervals: bool = True,
    sampling: Sampling = Sampling(),
    by: str | None = None,
    over: Over = "items",
    sanity: bool = False,
    advice: bool = True,
    engine: Engine | str = "local",
    processes: int | None = None,
    address: str | None = None,
    on_error: OnError = "stop",
    segments: str | Path | None = None,
    set_aside: str | Path | None = None,
    state: str | Path | None = None,
    progress: Progress = no_progress,
) -> Evaluation:
    """Score outputs against sources and references, or against an evaluation set (``plainly.load``).

    ``data`` is a data frame, records, an evaluation set, or a corpus in files (``plainly.streaming.open_corpus``).
    ``references`` has one entry per item: all references of that item; blank ones are ignored. With several systems
    the result is by system, then by metric; with one list of outputs, by metric. ``metrics`` are specs or metrics; the
    default depends on the texts. ``like`` uses the variants of another tool ("easse", "hf", …), ``target`` is the level
    that the systems aim at. ``language``, ``incomplete`` and ``unit`` are described in ``plainly.io.TextArguments``.
    ``select`` is a function that returns the part of the texts to score (``plainly.typology.selection.ByOperation``).

    ``intervals=False`` omits confidence intervals, ``sampling`` sets how they are drawn, and ``over`` what they
    generalise to: other items, other references for the same items, or both. ``by`` also scores subsets of the items.
    ``sanity`` adds the scores of trivial outputs such as a copy. ``advice=False`` omits warnings about the texts.

    The remaining arguments are for a corpus in files: the ``engine`` ("local", "ray", or an ``Engine``) that measures
    it in ``processes``, with the ``address`` of a Ray cluster; whether a row that cannot be measured stops the run
    (``on_error``); and where to write every item's scores (``segments``), such rows (``set_aside``) and what is needed
    to resume an interrupted run (``state``).
    """
    check_choice("over", over, get_args(Over))
    evaluation = measure(
        data,
        TextArguments(sources, outputs, references, evalset, ids, groups, columns, language, incomplete, unit),
        MeasureOptions(metrics, like, target, sampling, intervals, advice, select),
        CorpusOptions(engine, processes, address, on_error, segments, set_aside, state),
        progress=progress,
    )
    if sanity:
        evaluation = _with_sanity_rows(evaluation.by_item("sanity=True"))
    if over != "items" and evaluation.sampling is not None:
        items = evaluation.by_item("over=")
        evaluation = with_intervals(items, draw_references(items, over=over), over=over)
    if by is not None:
        evaluation = _with_subsets(evaluation.by_item("by="), by)
    # The annotation is that of the general case, r["A"]["sari"]. One unnamed list gives its SystemScores, r["sari"],
    # and a corpus too large to hold a BinnedEvaluation.
    return cast(Evaluation, evaluation[""] if list(evaluation) == [""] else evaluation)


@dataclass(frozen=True)
class MeasureOptions:
    """What is measured and how intervals are drawn, as the arguments of ``score`` say."""

    metrics: Metrics | None = None
    like: str | None = None
    target: str | float | None = None
    sampling: Sampling = Sampling()
    intervals: bool = True
    advice: bool = True
    select: Callable[[Texts], Texts] | None = None


def measure(
    data: Any, texts: TextArguments, options: MeasureOptions, corpus: CorpusOptions, *, progress: Progress = no_progress
) -> ScoreTable:
    """Return the evaluation that every analysis of scores starts from: measured now, or one that exists.

    An evaluation keeps the sampling of its own intervals unless another than the default is passed.
    """
    check_sampling(options.sampling)
    if options.select is not None and not callable(options.select):
        raise BadInput(f"select= must be a function that returns a part of the texts, not {options.select!r:.60}.")
    if options.select is not None and isinstance(data, (Corpus, ScoreTable, SystemScores)):
        raise BadInput("select= is for texts that are held in memory, not for a corpus in parts or for saved scores.")
    if options.like is not None:
        check_text("like", options.like)
    if options.like == "sacrebleu" and options.sampling.method == "expanded":  # sacrebleu has percentiles
        options = replace(options, sampling=replace(options.sampling, method="percentile"))
    if isinstance(data, SystemScores):
        data = data.alone
    if isinstance(data, ScoreTable):
        return _reuse(data, texts, options)
    sampling = options.sampling if options.intervals else None
    if isinstance(data, Corpus):
        if texts.language is not None:
            data = replace(data, language=detection.check(texts.language))
        metrics = resolve_metrics(options.metrics, data, like=options.like, target=options.target)
        evaluation = evaluate_corpus(data, metrics, corpus, sampling=sampling, progress=progress)
        notes = _check_corpus(data, evaluation)
    else:
        inputs = texts.read(data)
        if options.select is not None:
            inputs = options.select(inputs)
        metrics = resolve_metrics(options.metrics, inputs.evalset, like=options.like, target=options.target)
        evaluation = evaluate(inputs.evalset, inputs.outputs, metrics, sampling=sampling, progress=progress)
        notes = inputs.notes
    if options.like is not None:
        notes = (*notes, Note(describe_preset(options.like, metrics), code="like"))
    return replace(evaluation, input_notes=notes, advise=advise if options.advice else None)


def _reuse(evaluation: ScoreTable, texts: TextArguments, options: MeasureOptions) -> ScoreTable:
    """Return scores that exist, with the texts if they are passed, and with intervals.

    Intervals are drawn again if another sampling than the default is passed.
    """
    if options.metrics is not None or options.like is not None or options.target is not None:
        raise BadInput("Saved scores have their metrics already; leave metrics= out.")
    if not texts.is_empty:
        evaluation = _with_texts(evaluation, texts.read())
    if evaluation.sampling is None or options.sampling not in (Sampling(), evaluation.sampling):
        return add_intervals(replace(evaluation, sampling=options.sampling))
    return evaluation


def _with_texts(evaluation: ScoreTable, texts: Texts) -> ScoreTable:
    """Return saved scores with the texts that were scored, which are not saved with them."""
    signature = next(iter(next(iter(evaluation.values())).values())).signature
    if signature.data != texts.evalset.fingerprint:
        raise BadInput(f"These are scores of other texts ({signature}). Name the set that was scored, or score again.")
    missing = [system for system in evaluation if system not in texts.outputs]
    if missing:
        raise BadInput(f"The outputs of {missing[0]!r}, which was scored, were not passed. Pass them too.")
    outputs = {system: texts.outputs[system] for system in evaluation}
    return replace(evaluation, evalset=texts.evalset, outputs=outputs)


def advise(evaluation: ScoreTable) -> list[Note]:
    """Return what the metrics do not measure, and faults of the texts that are quick to find."""
    notes = remarks(evaluation)
    if evaluation.outputs is not None:
        outputs = {system: texts for system, texts in evaluation.outputs.items() if not system.startswith("(")}
        notes += diagnose(evaluation.evalset, outputs, evaluation.metrics, quick=True)
    return notes


def _check_corpus(corpus: Corpus, evaluation: ScoreTable) -> tuple[Note, ...]:
    """Raise if nothing of a corpus was measured; else return notes on the language of one whose texts are not held.

    Whether the metrics work in its language is checked in the first rows.
    """
    if not evaluation.n:
        if not evaluation.complete:
            raise KeyboardInterrupt
        aside = evaluation.reading.set_aside if evaluation.reading else 0
        raise BadInput(f"{corpus.name} has no row that can be measured; {aside} were set aside.")
    if evaluation.outputs is not None:
        return ()
    batch = next(batch for part in corpus.parts for batch in part.read(frozenset({"source"})))
    evalset = replace(batch.evalset, language=corpus.language)
    return tuple(diagnose(evalset, batch.outputs, evaluation.metrics, quick=True, only=("metric-language",)))


def _with_sanity_rows(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with trivial outputs as further systems, and a held-out reference if there are several."""
    texts, seed = evaluation.texts, (evaluation.sampling or Sampling()).seed
    outputs = sanity_rows.rows(evaluation.evalset, seed=seed)
    rows = evaluate(evaluation.evalset, outputs, evaluation.metrics, sampling=evaluation.sampling)
    both = replace(evaluation, systems={**evaluation.systems, **rows.systems}, outputs={**texts, **outputs})
    if int(evaluation.evalset.reference_counts.max(initial=0)) < 2:
        return both
    return replace(both, held_out=sanity_rows.leave_one_out(both))


def _with_subsets(evaluation: Evaluation, by: str) -> Evaluation:
    all_subsets = subsets.divide(evaluation.evalset, evaluation.texts, by)
    parts = tuple((subset, subsets.evaluate_subset(evaluation, subset)) for subset in all_subsets)
    return replace(evaluation, by=by, subsets=parts)
