"""Score outputs: texts, files or a frame in, an evaluation out, wherever it was measured."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

from plainly.core.errors import BadInput, check_choice
from plainly.core.evalset import EvalSet
from plainly.core.metric import Metric, Metrics
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note
from plainly.core.sampling import Sampling, check_sampling
from plainly.data import diagnose
from plainly.io.columns import Columns
from plainly.io.texts import Incomplete, Outputs, Texts, read_texts
from plainly.io.units import Unit
from plainly.scoring import references as resampled_references
from plainly.scoring import sanity as sanity_rows
from plainly.scoring import subsets
from plainly.scoring.advice import remarks
from plainly.scoring.evaluate import estimated, evaluate, resolve_metrics
from plainly.scoring.references import Over
from plainly.scoring.scores import Evaluation, SystemScores
from plainly.scoring.streamed import OnError, evaluate_corpus
from plainly.streaming.corpus import Corpus
from plainly.streaming.engines import Engine
from plainly.streaming.engines import engine as engine_of
from plainly.text.languages import detection


def score(
    data: Any = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | Outputs | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    metrics: Metrics | None = None,
    ids: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    columns: Columns | None = None,
    language: str | None = None,
    incomplete: Incomplete = "refuse",
    unit: Unit | None = None,
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
    default depends on the texts. ``language``, ``incomplete`` and ``unit`` are described in ``plainly.io.read_texts``.

    ``intervals=False`` omits confidence intervals, ``sampling`` sets how they are drawn, and ``over`` what they
    generalise to: other items, other references for the same items, or both. ``by`` also scores subsets of the items.
    ``sanity`` adds the scores of trivial outputs such as a copy. ``advice=False`` omits warnings about the texts.

    The remaining arguments are for a corpus in files: the ``engine`` ("local", "ray", or an ``Engine``) that measures
    it in ``processes``, with the ``address`` of a Ray cluster; whether a row that cannot be measured stops the run
    (``on_error``); and where to write every item's scores (``segments``), such rows (``set_aside``) and what is needed
    to resume an interrupted run (``state``).
    """
    evaluation = measure(
        read_data(
            data,
            sources=sources,
            outputs=outputs,
            references=references,
            evalset=evalset,
            ids=ids,
            groups=groups,
            columns=columns,
            language=language,
            incomplete=incomplete,
            unit=unit,
        ),
        metrics=metrics,
        intervals=intervals,
        sampling=sampling,
        advice=advice,
        engine=engine,
        processes=processes,
        address=address,
        on_error=on_error,
        segments=segments,
        set_aside=set_aside,
        state=state,
        progress=progress,
    )
    check_choice("over", over, get_args(Over))
    if sanity:
        evaluation = _with_sanity_rows(evaluation)
    if over != "items" and evaluation.sampling is not None:
        evaluation = resampled_references.with_intervals(
            evaluation, resampled_references.draw(evaluation, over=over), over=over
        )
    if by is not None:
        evaluation = _divided(evaluation, by)
    # One unnamed list gives its SystemScores, r["sari"]; the annotation is that of the general case, r["A"]["sari"].
    return cast(Evaluation, evaluation[""]) if list(evaluation) == [""] else evaluation


def read_data(
    data: Any = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | Outputs | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    ids: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    columns: Columns | None = None,
    language: str | None = None,
    incomplete: Incomplete = "refuse",
    unit: Unit | None = None,
) -> Texts | Corpus | Evaluation:
    """What ``measure`` takes: texts, a corpus in files, or scores that exist, with their texts if these are passed."""
    scores = data.alone if isinstance(data, SystemScores) else data
    if isinstance(scores, Evaluation) and all(given is None for given in (sources, outputs, references, evalset)):
        return scores
    if isinstance(data, Corpus):
        return data if language is None else dataclasses.replace(data, language=detection.check(language))
    texts = read_texts(
        None if isinstance(scores, Evaluation) else data,
        sources=sources,
        outputs=outputs,
        references=references,
        evalset=evalset,
        ids=ids,
        groups=groups,
        columns=columns,
        language=language,
        incomplete=incomplete,
        unit=unit,
    )
    return _with_texts(scores, texts) if isinstance(scores, Evaluation) else texts


def measure(
    data: Texts | Corpus | Evaluation,
    *,
    metrics: Metrics | None = None,
    intervals: bool = True,
    sampling: Sampling = Sampling(),
    advice: bool = True,
    paired: bool = False,
    engine: Engine | str = "local",
    processes: int | None = None,
    address: str | None = None,
    on_error: OnError = "stop",
    segments: str | Path | None = None,
    set_aside: str | Path | None = None,
    state: str | Path | None = None,
    progress: Progress = no_progress,
) -> Evaluation:
    """The evaluation that every analysis of scores starts from: measured now, or one that exists.

    An evaluation keeps the sampling of its own intervals unless another than the default is passed. ``paired`` also
    counts, for a corpus in files, on how many items each system beats each other one.
    """
    check_sampling(sampling)
    check_choice("on_error", on_error, get_args(OnError))
    if isinstance(data, Evaluation):
        if metrics is not None:
            raise BadInput("Saved scores have their metrics already; leave metrics= out.")
        if data.sampling is None or sampling not in (Sampling(), data.sampling):
            return estimated(dataclasses.replace(data, sampling=sampling))
        return data
    resolved = resolve_metrics(metrics, data if isinstance(data, Corpus) else data.evalset)
    if isinstance(data, Corpus):
        hold = True if engine == "memory" else None  # every item is kept, as in texts that are in memory already
        if isinstance(engine, str):
            engine = engine_of(engine, processes=processes, address=address)
        evaluation = evaluate_corpus(
            data,
            resolved,
            engine=engine,
            sampling=sampling if intervals else None,
            on_error=on_error,
            segments=segments,
            set_aside=set_aside,
            state=None if state is None else Path(state),
            paired=paired,
            hold=hold,
            progress=progress,
        )
        evaluation = _checked_corpus(data, evaluation)
    else:
        evaluation = evaluate(
            data.evalset, data.outputs, resolved, sampling=sampling if intervals else None, progress=progress
        )
        evaluation = dataclasses.replace(evaluation, taken=data.notes)
    return dataclasses.replace(evaluation, advise=advise if advice else None)


def _with_texts(evaluation: Evaluation, texts: Texts) -> Evaluation:
    """Saved scores with the texts that were scored, which are not saved with them."""
    signature = next(iter(next(iter(evaluation.values())).values())).signature
    if signature.data != texts.evalset.fingerprint:
        raise BadInput(f"These are scores of other texts ({signature}). Name the set that was scored, or score again.")
    missing = [system for system in evaluation if system not in texts.outputs]
    if missing:
        raise BadInput(f"There are scores of {missing[0]!r}, whose outputs were not given. Name them too.")
    outputs = {system: texts.outputs[system] for system in evaluation}
    return dataclasses.replace(evaluation, evalset=texts.evalset, outputs=outputs)


def advise(evaluation: Evaluation) -> list[Note]:
    """What the metrics are known not to see, and what a quick look finds wrong with the texts."""
    notes = remarks(evaluation)
    if evaluation.outputs is not None:
        written = {system: texts for system, texts in evaluation.outputs.items() if not system.startswith("(")}
        notes += diagnose(evaluation.evalset, written, evaluation.metrics, quick=True)
    return notes


def _checked_corpus(corpus: Corpus, evaluation: Evaluation) -> Evaluation:
    """The evaluation of a corpus in files, unless nothing of it was measured."""
    if not evaluation.n:
        if not evaluation.complete:
            raise KeyboardInterrupt
        aside = evaluation.reading.set_aside if evaluation.reading else 0
        raise BadInput(f"{corpus.name} has no row that can be measured; {aside} were set aside.")
    if evaluation.outputs is None:
        evaluation = dataclasses.replace(evaluation, taken=_language_of(corpus, evaluation.metrics))
    return evaluation


def _language_of(corpus: Corpus, metrics: Mapping[str, Metric]) -> tuple[Note, ...]:
    """Whether the metrics work in the language of a corpus that is not held, by its first rows."""
    batch = next((batch for part in corpus.parts for batch in part.read(frozenset({"source"}))), None)
    if batch is None:
        return ()
    evalset = dataclasses.replace(batch.evalset, language=corpus.language)
    return tuple(diagnose(evalset, batch.outputs, metrics, quick=True, only=("metric-language",)))


def _with_sanity_rows(evaluation: Evaluation) -> Evaluation:
    """The evaluation with rows of nonsense beside the systems, and a held-out reference where there are several."""
    if evaluation.outputs is None:
        raise BadInput("Sanity rows are made from the sources, which are not kept of a corpus too large to hold.")
    seed = (evaluation.sampling or Sampling()).seed
    outputs = sanity_rows.rows(evaluation.evalset, seed=seed)
    rows = evaluate(evaluation.evalset, outputs, evaluation.metrics, sampling=evaluation.sampling)
    joined = dataclasses.replace(
        evaluation, systems={**evaluation.systems, **rows.systems}, outputs={**evaluation.outputs, **outputs}
    )
    if int(evaluation.evalset.reference_counts.max(initial=0)) < 2:
        return joined
    return dataclasses.replace(joined, held_out=sanity_rows.leave_one_out(joined))


def _divided(evaluation: Evaluation, by: str) -> Evaluation:
    if evaluation.outputs is None:
        raise BadInput("Subsets are chosen item by item, and the items of a corpus too large to hold are not kept.")
    divided = subsets.divide(evaluation.evalset, evaluation.outputs, by)
    parts = tuple((subset, subsets.evaluate_subset(evaluation, subset)) for subset in divided)
    return dataclasses.replace(evaluation, by=by, subsets=parts)
