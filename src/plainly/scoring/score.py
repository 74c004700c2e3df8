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
from plainly.scoring.evaluate import add_intervals, describe_preset, evaluate, resolve_metrics
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
    like: str | None = None,
    target: str | float | None = None,
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
    default depends on the texts. ``like`` uses the variants of another tool ("easse", "hf", …), ``target`` is the level
    that the systems aim at. ``language``, ``incomplete`` and ``unit`` are described in ``plainly.io.read_texts``.

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
        sources=sources,
        outputs=outputs,
        references=references,
        evalset=evalset,
        metrics=metrics,
        like=like,
        target=target,
        ids=ids,
        groups=groups,
        columns=columns,
        language=language,
        incomplete=incomplete,
        unit=unit,
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
    if sanity:
        evaluation = _with_sanity_rows(evaluation)
    if over != "items" and evaluation.sampling is not None:
        evaluation = resampled_references.with_intervals(
            evaluation, resampled_references.draw_references(evaluation, over=over), over=over
        )
    if by is not None:
        evaluation = _with_subsets(evaluation, by)
    # One unnamed list gives its SystemScores, r["sari"]; the annotation is that of the general case, r["A"]["sari"].
    return cast(Evaluation, evaluation[""]) if list(evaluation) == [""] else evaluation


def measure(
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
    """Return the evaluation that every analysis of scores starts from: measured now, or one that exists.

    An evaluation keeps the sampling of its own intervals unless another than the default is passed. ``paired`` also
    counts, for a corpus in files, on how many items each system beats each other one.
    """
    check_sampling(sampling)
    scores = data.alone if isinstance(data, SystemScores) else data
    if isinstance(scores, Evaluation):
        data = None
        if metrics is not None or like is not None or target is not None:
            raise BadInput("Saved scores have their metrics already; leave metrics= out.")
    if isinstance(data, Corpus):
        corpus = data if language is None else dataclasses.replace(data, language=detection.check(language))
        check_choice("on_error", on_error, get_args(OnError))
        resolved = resolve_metrics(metrics, corpus, like=like, target=target)
        evaluation = evaluate_corpus(
            corpus,
            resolved,
            engine=engine_of(engine, processes=processes, address=address) if isinstance(engine, str) else engine,
            sampling=sampling if intervals else None,
            on_error=on_error,
            segments=segments,
            set_aside=set_aside,
            state=None if state is None else Path(state),
            paired=paired,
            hold=True if engine == "memory" else None,  # every item is kept, as in texts that are in memory already
            progress=progress,
        )
        evaluation = _checked_corpus(corpus, evaluation)
    elif isinstance(scores, Evaluation) and all(part is None for part in (sources, outputs, references, evalset)):
        return _with_sampling(scores, sampling)
    else:
        texts = read_texts(
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
        )
        if isinstance(scores, Evaluation):
            return _with_sampling(_with_texts(scores, texts), sampling)
        resolved = resolve_metrics(metrics, texts.evalset, like=like, target=target)
        of_texts = sampling if intervals else None
        evaluation = evaluate(texts.evalset, texts.outputs, resolved, sampling=of_texts, progress=progress)
        evaluation = dataclasses.replace(evaluation, input_notes=texts.notes)
    if like is not None:
        note = Note(describe_preset(like, resolved), code="like")
        evaluation = dataclasses.replace(evaluation, input_notes=(*evaluation.input_notes, note))
    return dataclasses.replace(evaluation, advise=advise if advice else None)


def _with_sampling(evaluation: Evaluation, sampling: Sampling) -> Evaluation:
    """Return saved scores with intervals, drawn again where another sampling than the default is passed."""
    if evaluation.sampling is None or sampling not in (Sampling(), evaluation.sampling):
        return add_intervals(dataclasses.replace(evaluation, sampling=sampling))
    return evaluation


def _with_texts(evaluation: Evaluation, texts: Texts) -> Evaluation:
    """Return saved scores with the texts that were scored, which are not saved with them."""
    signature = next(iter(next(iter(evaluation.values())).values())).signature
    if signature.data != texts.evalset.fingerprint:
        raise BadInput(f"These are scores of other texts ({signature}). Name the set that was scored, or score again.")
    missing = [system for system in evaluation if system not in texts.outputs]
    if missing:
        raise BadInput(f"There are scores of {missing[0]!r}, whose outputs were not passed. Name them too.")
    outputs = {system: texts.outputs[system] for system in evaluation}
    return dataclasses.replace(evaluation, evalset=texts.evalset, outputs=outputs)


def advise(evaluation: Evaluation) -> list[Note]:
    """Return what the metrics do not measure, and faults of the texts that are quick to find."""
    notes = remarks(evaluation)
    if evaluation.outputs is not None:
        written = {system: texts for system, texts in evaluation.outputs.items() if not system.startswith("(")}
        notes += diagnose(evaluation.evalset, written, evaluation.metrics, quick=True)
    return notes


def _checked_corpus(corpus: Corpus, evaluation: Evaluation) -> Evaluation:
    """Raise if nothing of a corpus was measured; else return the evaluation with notes about its language."""
    if not evaluation.n:
        if not evaluation.complete:
            raise KeyboardInterrupt
        aside = evaluation.reading.set_aside if evaluation.reading else 0
        raise BadInput(f"{corpus.name} has no row that can be measured; {aside} were set aside.")
    if evaluation.outputs is None:
        evaluation = dataclasses.replace(evaluation, input_notes=_language_of(corpus, evaluation.metrics))
    return evaluation


def _language_of(corpus: Corpus, metrics: Mapping[str, Metric]) -> tuple[Note, ...]:
    """Check in the first rows of a corpus that is not held whether the metrics work in its language."""
    batch = next((batch for part in corpus.parts for batch in part.read(frozenset({"source"}))), None)
    if batch is None:
        return ()
    evalset = dataclasses.replace(batch.evalset, language=corpus.language)
    return tuple(diagnose(evalset, batch.outputs, metrics, quick=True, only=("metric-language",)))


def _with_sanity_rows(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with trivial outputs as further systems, and a held-out reference if there are several."""
    if evaluation.outputs is None:
        raise BadInput("Sanity rows are made from the sources, which are not kept of a corpus too large to hold.")
    seed = (evaluation.sampling or Sampling()).seed
    outputs = sanity_rows.rows(evaluation.evalset, seed=seed)
    rows = evaluate(evaluation.evalset, outputs, evaluation.metrics, sampling=evaluation.sampling)
    both = dataclasses.replace(
        evaluation, systems={**evaluation.systems, **rows.systems}, outputs={**evaluation.outputs, **outputs}
    )
    if int(evaluation.evalset.reference_counts.max(initial=0)) < 2:
        return both
    return dataclasses.replace(both, held_out=sanity_rows.leave_one_out(both))


def _with_subsets(evaluation: Evaluation, by: str) -> Evaluation:
    if evaluation.outputs is None:
        raise BadInput("Subsets are chosen item by item, and the items of a corpus too large to hold are not kept.")
    divided = subsets.divide(evaluation.evalset, evaluation.outputs, by)
    parts = tuple((subset, subsets.evaluate_subset(evaluation, subset)) for subset in divided)
    return dataclasses.replace(evaluation, by=by, subsets=parts)
