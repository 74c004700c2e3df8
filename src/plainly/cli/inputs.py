"""What to evaluate, as every command that scores takes it: a named set, own files, a table, or the demo."""

import argparse
import dataclasses
import re
import typing
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plainly import registry
from plainly.cli import options
from plainly.errors import BadInput, UnknownName, did_you_mean
from plainly.inputs.corpus import Corpus
from plainly.inputs.texts import Inputs, absences, spoken
from plainly.render.show import say

Outputs = dict[str, tuple[str, ...]]
_CONDITIONS = ("references_with", "references_without", "items_with", "items_without")  # of by_operation.toml


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """The arguments that choose metrics."""
    from plainly.questions.presets import presets

    options.add(parser, "choosing_metrics", like={"choices": tuple(presets())})


def chosen_metrics(args: argparse.Namespace, data: Inputs | Corpus) -> list[str]:
    """The specs that were asked for, or a sensible few; all of them are checked here, before anything is measured."""
    from plainly.questions import presets, score

    specs = [spec for written in args.metrics or () for spec in registry.split_specs(written)]
    if args.metrics and not specs:
        raise BadInput("-m names no metric. See: plainly metrics")
    if args.like is not None:
        specs, said = presets.like(args.like, specs, references=data.has_references)
        say(said)
    specs = [str(spec) for spec in score.chosen_metrics(specs or None, data.has_references, data.language)]
    for spec in specs:
        registry.metric(spec)
    if args.target is not None:
        specs = _aimed(specs, args.target)
    return list(dict.fromkeys(specs))


def _aimed(specs: Sequence[str], target: str) -> list[str]:
    """The specs, with the target for those metrics that have one of its kind and were not given another.

    A number is for metrics that aim at numbers, if there are any; a name, or a number without them, for CEFR levels.
    """
    metrics: dict[str, Any] = {spec: registry.metric(spec) for spec in specs}
    aiming = {
        spec: typing.get_type_hints(type(metric))["target"]
        for spec, metric in metrics.items()
        if hasattr(metric, "target")
    }
    numeric = [spec for spec, kind in aiming.items() if float in typing.get_args(kind)]
    try:
        value: str | float = float(target) if numeric else target
    except ValueError:
        value = target
    chosen = numeric if isinstance(value, float) else [spec for spec in aiming if spec not in numeric]
    if not chosen:
        raise BadInput(
            "--target is for metrics that measure the distance from a level; none that takes it is named. Add: -m cefr "
            "for a CEFR level, -m sle for a number."
        )
    return [
        repr(dataclasses.replace(metric, target=value)) if spec in chosen and metric.target is None else spec
        for spec, metric in metrics.items()
    ]


@contextmanager
def opened(args: argparse.Namespace) -> Iterator[Inputs | Corpus]:
    """What the arguments name: texts that were read, or a corpus that is read a part at a time."""
    from plainly.cli import streaming

    if not streaming.wanted(args):
        yield read(args)
        return
    corpus = streaming.opened(args)
    try:
        yield corpus
    finally:
        corpus.close()


def selected(args: argparse.Namespace, data: Inputs | Corpus) -> Inputs | Corpus:
    """The items and references that --references-with and its like choose."""
    conditions = {name: getattr(args, name) for name in _CONDITIONS}
    if not any(conditions.values()):
        return data
    if isinstance(data, Corpus):
        raise BadInput("References and items are chosen by operation where all are at hand: --engine memory.")
    from plainly.typology.select import choose

    selection = choose(data.evalset, operations=args.operations, share=args.items_share, **conditions)
    say(f"Chosen by operation: {selection}.")
    outputs = {system: selection.outputs(texts) for system, texts in data.outputs.items()}
    return Inputs(selection.evalset, outputs, data.notes)


def read(args: argparse.Namespace) -> Inputs:
    """Read what the arguments name; the first thing wrong is an error and nothing is returned."""
    inputs = _read(args)
    if getattr(args, "unit", None) is None:
        return inputs
    from plainly.inputs.units import with_unit

    return with_unit(inputs, args.unit)


def _read(args: argparse.Namespace) -> Inputs:
    named = [args.test_set is not None, args.demo, bool(args.source or args.references or args.table)]
    if sum(named) > 1:
        raise BadInput("Give one of -t SET, --demo, or own files (--source, --references, --table).")
    if args.groups and (args.demo or args.test_set is not None):
        raise BadInput("--groups goes with files of your own; a named set has its documents already, or none.")
    inputs = _demo(args.systems) if args.demo else _named(args) if args.test_set is not None else _files(args)
    return spoken(inputs, args.language)


def _demo(systems: Sequence[str]) -> Inputs:
    from plainly import data

    evalset, outputs = data.demo()
    for system in systems:
        if system not in outputs:
            raise UnknownName("demo system", system, outputs, see="plainly score --demo")
    return Inputs(evalset, {system: outputs[system] for system in systems or outputs})


def _named(args: argparse.Namespace) -> Inputs:
    from plainly import data
    from plainly.cli.progress import bar
    from plainly.inputs.reading import read_inputs

    name, systems = args.test_set, args.systems
    evalset = data.load(name, progress=bar)
    published = data.systems(name)
    if not systems:
        shown = ", ".join(published[:12]) + (", …" if len(published) > 12 else "")
        raise BadInput(
            f"Which outputs of {name} should be scored? Name a file or a published system ({shown or 'none'}), "
            "or 'all'."
        )
    outputs: Outputs = {}
    own = [system for system in systems if system not in published and (system != "all" or Path(system).exists())]
    for spec in own:
        _check_own(spec, name, published)
    read = Inputs(evalset, {})
    if own or args.columns:
        columns = options.columns(args.columns)
        read = read_inputs(own, evalset=evalset, columns=columns, incomplete=args.incomplete)
    for system in systems:
        if system not in own:
            outputs |= data.outputs_of(name, published if system == "all" else [system], progress=bar)
    if both := outputs.keys() & read.outputs:
        raise BadInput(f"Two systems are called {min(both)!r}. Name yours apart: NAME=FILE")
    parts = (read.outputs, outputs) if systems[0] in own else (outputs, read.outputs)
    return Inputs(evalset, {**parts[0], **parts[1]}, (*read.notes, *absences(outputs)))


def _check_own(spec: str, name: str, published: Sequence[str]) -> None:
    path = Path(spec.partition("=")[2] or spec)
    if spec != "-" and not Path(spec).exists() and not path.exists() and not any(mark in spec for mark in "*?["):
        raise BadInput(
            f"{spec!r} is neither a file nor a published system of {name}."
            f"{did_you_mean(spec, published)} See: plainly data info {name}"
        )


def _files(args: argparse.Namespace) -> Inputs:
    from plainly.inputs.reading import read_inputs

    references, systems, columns = list(args.references), list(args.systems), options.columns(args.columns)
    if references and not systems and not args.table:
        references, systems = split_references(references)
    if not systems and not args.table and not args.source and not references:
        raise BadInput(
            "Nothing to score. Name a set (-t asset/test ACCESS), files (--source FILE --references FILE… OUTPUT…), a "
            "table (data.csv), or try --demo."
        )
    return read_inputs(
        systems,
        source=args.source,
        references=references,
        table=args.table,
        groups=args.groups,
        columns=columns,
        incomplete=args.incomplete,
    )


def split_references(paths: list[str]) -> tuple[list[str], list[str]]:
    """Part references from outputs where a shell has expanded ``--references ref.*.txt OUT``.

    References are files that are named alike; what is named otherwise, after them, is an output.
    """
    shape = _shape(paths[0])
    last = 0
    while last + 1 < len(paths) and _alike(_shape(paths[last + 1]), shape):
        last += 1
    references, outputs = paths[: last + 1], paths[last + 1 :]
    if not outputs:
        raise BadInput(
            f"All {len(paths)} files after --references look like references, so there is no output to score. Put the "
            "outputs first (plainly score OUTPUT --source … --references …) or after --"
        )
    say(
        f"plainly: took {references[0]}{f' … {references[-1]}' if last else ''} as references, "
        f"{', '.join(outputs)} as outputs"
    )
    return references, outputs


def _shape(path: str) -> tuple[str, ...]:
    return tuple(re.split(r"[._-]", re.sub(r"\d+", "#", path)))


def _alike(shape: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if len(shape) != len(other):
        return False
    differing = [place for place, (a, b) in enumerate(zip(shape, other, strict=True)) if a != b]
    return not differing or (len(shape) >= 3 and len(differing) == 1 and differing[0] > 0)
