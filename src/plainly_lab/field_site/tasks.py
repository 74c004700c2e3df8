"""The plan of the field and its tasks, each of which is done once and kept as JSON."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

import plainly
from plainly import data
from plainly.auditing import audit
from plainly.core import registry
from plainly.core.errors import BadInput, DataUnavailable, MissingExtra
from plainly.core.evalset import EvalSet
from plainly.core.files import read_shipped, write_whole
from plainly.core.progress import Tell
from plainly.core.sampling import Sampling
from plainly.io.faults.corpus_faults import reference_systems
from plainly.learned import encoder
from plainly.people import read_ratings
from plainly.people.correlations import correlate_metrics, score_units
from plainly.reporting.findings import alarms, habits
from plainly.scoring.compare import compare
from plainly.scoring.comparisons import DECIDING
from plainly.scoring.evaluate import add_intervals
from plainly.scoring.score_file import open_saved
from plainly.scoring.scores import Evaluation, Scores
from plainly_lab.field_site.findings import Agreement, Doubts, MetricAudit, Paper, Sample, Standing, Standings
from plainly_lab.grids import DEMO, digest, safe
from plainly_lab.reproductions import RECIPES, check_requirements, reproduce
from plainly_lab.reproductions.cells import published

_SEED = re.compile(r"(.+)/\d+")
_MODELS = Path(plainly.__file__).parent / "learned" / "weights"
SETTINGS = read_shipped(__file__, "plan.toml")  # sets with their metrics, attacks, ratings


@dataclass(frozen=True)
class FieldPlan:
    """Metrics by set, papers, a directory of licensed outputs, and the metrics that are left out, with the reason."""

    sets: dict[str, tuple[str, ...]]
    papers: tuple[str, ...]
    newsela: Path | None
    left_out: tuple[str, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric of every set, in the order of the sets."""
        return tuple(dict.fromkeys(spec for specs in self.sets.values() for spec in specs))

    @property
    def is_public(self) -> bool:
        """Whether there is more than the demo. Only then are metrics attacked and compared with ratings."""
        return any(name != DEMO for name in self.sets)


def make_plan(
    sets: Sequence[str] | None, metrics: Sequence[str] | None, papers: Sequence[str] | None, newsela: Path | None
) -> FieldPlan:
    """Plan these sets and metrics, or all; what needs a model or a package that is not installed is left out and named.

    A paper that was chosen is not left out: a package that it needs is asked for before any work is done.
    """
    if newsela is not None and not newsela.is_dir():
        raise BadInput(f"There is no directory {newsela}. It should hold the licensed outputs, one file per system.")
    specs_by_set: dict[str, tuple[str, ...]] = {}
    for name in sets or SETTINGS["default"]["sets"]:
        full = name if name == DEMO else data.card(name).name
        if not list_systems(full):
            raise BadInput(f"No outputs for {full} are public. Sets that have some: {', '.join(SETTINGS['sets'])}.")
        specs_by_set[full] = tuple(dict.fromkeys(metrics or SETTINGS["sets"].get(full, ("sari", "fkgl"))))
    possible, left_out = [], []
    for paper in RECIPES if papers is None else papers:
        try:
            check_requirements(paper)
            possible.append(paper)
        except MissingExtra as error:
            if papers is not None:
                raise
            left_out.append(f"the paper {paper}: {str(error).rstrip('.')}")
    plan = FieldPlan(specs_by_set, tuple(possible), newsela, ())
    missing = [spec for spec in plan.metrics if not _is_installed(spec)]
    installed = {name: tuple(spec for spec in specs if spec not in missing) for name, specs in plan.sets.items()}
    left_out += [f"{spec}: its model is not installed" for spec in missing]
    return replace(plan, sets=installed, left_out=tuple(left_out))


def list_systems(name: str) -> tuple[str, ...]:
    """Return the systems whose outputs for a set are public."""
    return tuple(data.demo()[1]) if name == DEMO else data.system_names(name)


def family(system: str) -> str:
    """Return the system that was trained several times: ``NAME/3`` is the third training of ``NAME``."""
    seed = _SEED.fullmatch(system)
    return seed[1] if seed else system


def hash_models(*specs: str) -> str:
    """Return a hash of the shipped models that these metrics use, which changes with their weights."""
    names = {model for spec in specs if (model := registry.metric(spec).model)}
    cards = [_MODELS / name / "model.json" for name in sorted(names)]
    return digest([card.read_bytes().hex() for card in cards if card.is_file()])


def hash_content(name: str) -> str:
    """Return a hash of a set and its outputs, from the cards alone."""
    if name == DEMO:
        evalset, outputs = data.demo()
        return digest(evalset.fingerprint, outputs)
    card_of_set = data.card(name)
    cards = [card_of_set, *(card for card in data.cards() if {card_of_set.name, card_of_set.within} & set(card.of))]
    return digest([file.sha256 for card in cards for file in card.files])


def identify_metric(spec: str) -> str:
    """Return the parameters and the model of a metric, which determine its numbers on given texts."""
    return f"{registry.metric(spec).spec(full=True)} {hash_models(spec)}"


def _is_installed(spec: str) -> bool:
    model = registry.metric(spec).model
    return model not in (encoder.SHIPPED, encoder.JUDGE) or (_MODELS / model / "model.onnx").is_file()


LICENSED = ("fkgl-gaming",)  # papers whose outputs are not public
Finding = Standings | Doubts | MetricAudit | tuple[Agreement, ...] | Paper | dict[str, tuple[Sample, ...]]
_SAMPLES, _WORST = 2, 3  # items of a system that its page shows


@dataclass(frozen=True)
class FieldTask:
    """A piece of work: its kind, its set, ratings or paper, its metric, and a key of all that it depends on."""

    kind: str
    name: str
    spec: str = ""
    key: str = ""
    path: str = ""  # saved scores, or licensed outputs

    def file_in(self, folder: Path) -> Path:
        return folder / f"{self.kind}-{safe('-'.join(filter(None, (self.name, self.spec))))}.json"


def load_finding(task: FieldTask, folder: Path) -> Finding | None:
    """Load the result of a task, if it is in the cache with the same key."""
    try:
        record = json.loads(task.file_in(folder).read_bytes())
        return _convert(task, record["value"]) if record["key"] == task.key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _convert(task: FieldTask, value: object) -> Finding:
    finding: Finding = msgspec.convert(value, KINDS[task.kind].__annotations__["return"])
    return finding


def group_tasks(tasks: Sequence[FieldTask]) -> list[list[FieldTask]]:
    """Group tasks whose models read the same texts, so that one process reads each text once."""
    groups: dict[object, list[FieldTask]] = {}
    for task in tasks:
        reads_texts = task.kind in ("audit", "people") and registry.metric(task.spec).learned
        groups.setdefault((task.kind, task.name) if reads_texts else task, []).append(task)
    for group in groups.values():
        if len(group) > 1:
            group.sort(key=lambda task: not registry.metric(task.spec).runs_first)
    return list(groups.values())


@dataclass(frozen=True)
class FieldWork:
    """A worker that does tasks and saves each result, so that an interrupted run resumes."""

    folder: Path

    def __call__(self, task: Sequence[FieldTask], tell: Tell) -> dict[FieldTask, Finding]:
        findings: dict[FieldTask, Finding] = {}
        for piece in task:
            # NumPy's numbers become Python's, as when they are read from the cache.
            value = msgspec.to_builtins(KINDS[piece.kind](piece), enc_hook=lambda number: number.tolist())
            write_whole(piece.file_in(self.folder), json.dumps({"key": piece.key, "value": value}, ensure_ascii=False))
            findings[piece] = _convert(piece, value)
            tell(1)
        return findings


def load_texts(name: str) -> tuple[EvalSet, dict[str, tuple[str, ...]]]:
    """Load a set and the outputs of all its systems."""
    return data.demo() if name == DEMO else (data.load(name), data.outputs_of(name, list_systems(name)))


def _standings(task: FieldTask) -> Standings:
    """Rank the systems of a set by one metric: score, interval, cluster, ties with the best."""
    saved = open_saved(task.path)
    people = reference_systems(*load_texts(task.name))  # a reference that is scored against itself is not ranked
    scores = {system: of_system[task.spec] for system, of_system in saved.systems.items() if system not in people}
    trainings = {system: [name for name in scores if family(name) == system] for system in map(family, scores)}
    pooled_scores = {
        system: {task.spec: _pool(system, [scores[name] for name in names])} for system, names in trainings.items()
    }
    evaluation = add_intervals(Evaluation(saved.evalset, pooled_scores, Sampling()))
    several = len(evaluation) > 1 and evaluation.n > 1
    comparisons = compare(evaluation, tests=(DECIDING,), advice=False) if several else None
    clusters = comparisons.clusters(task.spec) if comparisons else []
    best = evaluation.ranking(task.spec)[0]
    standings = []
    metric = evaluation.metrics[task.spec]  # with a target, the distance from it is the headline
    has_best = metric.better != "neither"
    for rank, system in enumerate(evaluation.ranking(task.spec), 1):
        record = evaluation[system][task.spec].json()
        is_different = comparisons is None or system == best or comparisons.pair(task.spec, best, system).significant
        seeds = tuple(float(scores[name]) for name in trainings[system])
        standing = Standing(
            system=system,
            rank=rank,
            cluster=next((number for number, names in enumerate(clusters, 1) if system in names), None),
            best=has_best and system == best,
            tied=has_best and not is_different,
            **{name: value for name, value in record.items() if name not in ("parts", "method")},
            seeds=seeds if len(seeds) > 1 else (),
        )
        standings.append(standing)
    return Standings(
        better=metric.better,
        output=metric.outputs[0],
        systems=tuple(standings),
        clusters=len(clusters),
        test=comparisons.deciding if comparisons else None,
        draws=(comparisons.further or comparisons.trials) if comparisons else None,
        pairs=comparisons.family(task.spec) if comparisons else 0,
        method=next(iter(evaluation[best][task.spec].intervals.values())).method if evaluation.n > 1 else None,
    )


def _pool(system: str, scores: Sequence[Scores]) -> Scores:
    """Pool several trainings of one system: the rows of an item are summed, and the signature says of how many."""
    if len(scores) == 1:
        return scores[0]
    signature = scores[0].signature
    signature = replace(signature, remarks=(*signature.remarks, f"trainings:{len(scores)}"))
    return Scores.of_items(scores[0].metric, system, np.sum([of.rows for of in scores], axis=0), signature)


def _warnings(task: FieldTask) -> Doubts:
    """Find faults in the texts of a set, and scores that the habits of systems make misleading."""
    evalset, outputs = load_texts(task.name)
    specs = task.spec.split("\n")
    first: dict[str, tuple[str, ...]] = {}  # the first of several trainings represents the system
    for system, lines in outputs.items():
        first.setdefault(family(system), lines)
    notes = data.diagnose(evalset, first, specs, quick=True)
    metrics = {spec: registry.metric(spec) for spec in specs}
    all_habits = habits(evalset, first)
    all_alarms = alarms(metrics, all_habits)
    alone = {  # the alarms of each system by itself
        system: alarms(metrics, [replace(habit, systems={system: habit.systems[system]}) for habit in all_habits])
        for system in dict.fromkeys(system for alarm in all_alarms for system in alarm.systems)
    }
    return Doubts(
        items=len(evalset),
        references=tuple(sorted(set(map(int, evalset.reference_counts)))),
        documents=len(set(evalset.groups)) if evalset.groups else None,
        warnings=tuple(notes),
        alarms=tuple(all_alarms),
        alarms_of={system: tuple(f"{alarm.metric}: {alarm.message}" for alarm in of) for system, of in alone.items()},
        reference_systems=tuple(sorted(reference_systems(evalset, first))),
    )


def _samples(task: FieldTask) -> dict[str, tuple[Sample, ...]]:
    """Choose items of each system: some evenly spaced, and those that one metric scores worst."""
    evalset, outputs = load_texts(task.name)
    samples: dict[str, tuple[Sample, ...]] = {}
    for system, of_system in open_saved(task.path).systems.items():
        if family(system) in samples:
            continue  # the first of several trainings represents the system
        scores = of_system[task.spec]
        values = scores.segments[scores.metric.outputs[0]]
        ranking = np.argsort(values if scores.metric.better == "higher" else -values, kind="stable")
        order = [int(at) for at in ranking if not np.isnan(values[at])]
        worst: list[int] = order[:_WORST] if scores.metric.better != "neither" else []
        others = sorted(set(order) - set(worst))
        spread = [others[(2 * place + 1) * len(others) // (2 * _SAMPLES)] for place in range(_SAMPLES) if others]
        samples[family(system)] = tuple(
            Sample(evalset.ids[at], evalset.sources[at], outputs[system][at], float(values[at]), at in worst)
            for at in (*dict.fromkeys(spread), *worst)
        )
    return samples


def _audit(task: FieldTask) -> MetricAudit:
    """Attack a metric on some items of some systems."""
    settings = SETTINGS["audit"]
    evalset, outputs = data.load(settings["set"]), data.outputs_of(settings["set"], settings["systems"])
    items = np.unique(np.linspace(0, len(evalset) - 1, settings["items"]).astype(int))
    result = audit(
        evalset=evalset[items],
        outputs={system: [lines[item] for item in items] for system, lines in outputs.items()},
        metrics=[task.spec],
        levels=settings["levels"],
        trials=settings["trials_by_model" if registry.metric(task.spec).learned else "trials"],
    )
    design = result.sweep.design
    (verdict,) = result.verdicts.values()
    return MetricAudit(
        test_set=settings["set"],
        systems=tuple(settings["systems"]),
        items=len(design.evalset),
        trials=design.trials,
        seed=design.seed,
        signature=result.sweep.signatures[verdict.metric],
        verdict=result.paragraphs[verdict.metric],
        effects=verdict.effects,
    )


def _people(task: FieldTask) -> tuple[Agreement, ...]:
    """Correlate a metric with ratings, output by output and system by system."""
    dimensions = SETTINGS["ratings"][task.name]
    judgements = read_ratings(task.name)
    if "references" in registry.metric(task.spec).needs and not judgements.references:
        return ()
    scores = score_units(judgements, judgements[dimensions[0]].units(), [task.spec])
    result = correlate_metrics(judgements, [scores], dimensions=dimensions, statistics=("pearson",), compare=False)
    signature = str(scores[task.spec].signature)
    return tuple(Agreement(task.name, signature, row) for row in result.rows if row.slice == "all")


def _paper(task: FieldTask) -> Paper:
    """Compute a paper's numbers again, with the artefacts of its files and without."""
    paper_tables = published(task.name)
    recipes = tuple(f"{name}: {scoring['recipe']}" for name, scoring in paper_tables.get("scorings", {}).items())
    paper = Paper(task.name, paper_tables["title"], recipe_notes=recipes)
    if task.name in LICENSED and not task.path:
        reason = "The outputs of its systems are licensed and cannot be fetched."
        return replace(paper, why=f"{reason} If you have them: plainly field --newsela DIR.")
    try:
        reproduction = reproduce(task.name, processes=1, outputs=task.path or None)
    except (ImportError, MissingExtra, DataUnavailable) as error:  # the other pages do not depend on it
        return replace(paper, why=str(error))
    return replace(paper, cells=reproduction.cells, conclusions=tuple(reproduction.conclusions))


KINDS: dict[str, Callable[[FieldTask], Finding]] = {
    "standings": _standings,
    "warnings": _warnings,
    "samples": _samples,
    "audit": _audit,
    "people": _people,
    "paper": _paper,
}
