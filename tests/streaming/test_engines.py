"""Workers may be many and may die: no number changes, nothing is lost, and what was done is not done again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest

import plainly
from corpora import make
from plainly.cli import main
from plainly.core.errors import BadInput, PlainlyError, UnknownName
from plainly.core.sampling import Sampling
from plainly.scoring.corpus_evaluation import CorpusOptions, evaluate_corpus
from plainly.scoring.scores import BinnedEvaluation
from plainly.streaming.corpus import open_corpus
from plainly.streaming.engines import NAMES, Tell, engine
from plainly.streaming.engines.local import LocalEngine

METRICS = ["sari", "sari(variant=xu)", "fkgl"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(1200).write_parquet(tmp_path_factory.mktemp("corpus") / "shards", files=3, rows_a_group=100)


def _scores(folder: Path, processes: int, tell: Tell = lambda _: None) -> dict[str, object]:
    evaluation = evaluate_corpus(
        open_corpus([str(folder)]),
        METRICS,
        CorpusOptions(LocalEngine(processes), hold=False),
        sampling=Sampling(resamples=100),
        progress=lambda what, *, total, unit="": nullcontext(tell),
    )
    return {
        f"{system} {spec}": (tally.corpus, {name: (e.low, e.high) for name, e in tally.intervals.items()})
        for system, by in evaluation.systems.items()
        for spec, tally in by.items()
    }


@pytest.fixture(scope="module")
def alone(folder: Path) -> dict[str, object]:
    return _scores(folder, 1)


def _assert_same(one: dict[str, object], other: dict[str, object]) -> None:
    assert one.keys() == other.keys()
    for key in one:
        (scores, intervals), (others, theirs) = one[key], other[key]  # type: ignore[misc]
        if "xu" in key:  # its rows are sums of fractions, in an order that the words seen before decide
            others = {name: pytest.approx(value, rel=1e-12) for name, value in others.items()}
        assert scores == others
        assert {k: pytest.approx(v, rel=1e-12) for k, v in intervals.items()} == theirs


@pytest.mark.parametrize("processes", [2, pytest.param(7, marks=pytest.mark.long)])
def test_any_number_of_processes_gives_the_same_numbers(folder: Path, alone: dict[str, object], processes: int) -> None:
    _assert_same(alone, _scores(folder, processes))


def test_a_worker_that_is_killed_changes_nothing(folder: Path, alone: dict[str, object]) -> None:
    killed: list[int] = []
    rows: list[int] = []

    def tell(amount: int) -> None:
        rows.append(amount)
        if len(killed) < 2 and amount > 0:
            victim = next(child for child in active_children() if child.pid not in killed)
            os.kill(victim.pid, signal.SIGKILL)
            killed.append(victim.pid)

    _assert_same(alone, _scores(folder, 2, tell))
    assert len(killed) == 2
    assert sum(rows) == 1200  # what the killed had said is taken back


class Deadly:
    def __call__(self, task: int, tell: Tell) -> int:
        if task == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return task


class Faulty:
    def __call__(self, task: int, tell: Tell) -> int:
        if task == 3:
            raise UnknownName("thing", "x", ["y"], see="here") if tell else ValueError
        return task


@pytest.mark.long
def test_work_that_always_kills_its_process_ends_in_an_error() -> None:
    with pytest.raises(PlainlyError, match=r"part 4 .*-9"):
        list(LocalEngine(2).run(Deadly(), range(6)))


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_in_a_worker_is_the_callers(processes: int) -> None:
    with pytest.raises(PlainlyError, match="Unknown thing 'x'"):
        list(LocalEngine(processes).run(Faulty(), range(6)))


def test_engines_are_chosen_by_name() -> None:
    with pytest.raises(UnknownName, match=r"'rya'\. Did you mean 'ray'"):
        engine("rya")
    assert [type(engine(name)) for name in ("auto", "memory", "local")] == [LocalEngine] * 3
    assert engine("memory", processes=4).processes == 1, "in this process"  # type: ignore[attr-defined]
    with pytest.raises(BadInput, match="at least 1"):
        engine("local", processes=0)
    with pytest.raises(BadInput, match="address="):
        engine("local", address="localhost:1")


def test_every_engine_that_the_command_line_takes_can_be_named_in_python(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plainly.scoring.corpus_evaluation.HELD", 100)
    results = {
        name: plainly.score(
            open_corpus([str(folder)]), metrics=["fkgl"], engine=name, processes=1, sampling=Sampling(resamples=20)
        )
        for name in NAMES
        if name != "ray"
    }
    assert [isinstance(result, BinnedEvaluation) for result in results.values()] == [True, False, True]
    numbers = [{system: float(result[system]["fkgl"]) for system in result} for result in results.values()]
    assert numbers[0] == numbers[2] == pytest.approx(numbers[1], rel=1e-12)


# What a person runs, with an accident after so many rows.
SCRIPT = """
import os, signal, sys
from contextlib import contextmanager

import plainly.cli.score as command
import plainly.streaming.resume as resume
from plainly.cli import main

resume.SAVE_SECONDS = 0.0
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it

@contextmanager
def with_accident(what, *, total, unit=""):
    count = [0]
    def counting(amount):
        count[0] += amount
        if count[0] >= int(sys.argv[2]):
            os.kill(os.getpid(), int(sys.argv[1]))
    yield counting

command.bar = with_accident
if __name__ == "__main__":
    sys.exit(main(sys.argv[3:]))
"""


def _accident(tmp_path: Path, number: int, rows: int, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "accident.py"
    script.write_text(SCRIPT)
    return subprocess.run(
        [sys.executable, str(script), str(int(number)), str(rows), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_a_run_that_was_killed_resumes(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "state.npz"
    arguments = ["score", str(folder), "-m", "sari,fkgl", "--json", "--processes", "2", "--state", str(state)]
    killed = _accident(tmp_path, signal.SIGKILL, 600, arguments)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert killed.stdout == ""
    assert state.exists()
    assert main(arguments) == 0
    again = capsys.readouterr()
    assert "earlier run" in again.err
    assert not state.exists()  # done: nothing to go on from
    assert main([*arguments, "--restart"]) == 0
    fresh = capsys.readouterr()
    assert "earlier run" not in fresh.err
    one, other = json.loads(again.out), json.loads(fresh.out)
    for mine, theirs in zip(one["systems"], other["systems"], strict=True):
        for spec in ("sari", "fkgl"):
            assert mine["scores"][spec]["value"] == theirs["scores"][spec]["value"]
            assert mine["scores"][spec]["low"] == pytest.approx(theirs["scores"][spec]["low"], rel=1e-12)


@pytest.mark.long
def test_a_state_of_other_metrics_or_files_is_ignored(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state.npz"
    arguments = ["score", str(folder), "--processes", "1", "--json", "--state", str(state)]
    assert _accident(tmp_path, signal.SIGKILL, 600, [*arguments, "-m", "fkgl"]).returncode == -signal.SIGKILL
    assert main([*arguments, "-m", "sari"]) == 0
    assert "earlier run" not in capsys.readouterr().err


@pytest.mark.parametrize("processes", ["1", pytest.param("2", marks=pytest.mark.long)])
def test_an_interrupted_run_leaves_a_partial_result_that_says_so(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str], processes: str
) -> None:
    state = tmp_path / "state.npz"
    arguments = ["score", str(folder), "-m", "sari,fkgl", "--json", "--processes", processes, "--state", str(state)]
    stopped = _accident(tmp_path, signal.SIGINT, 600, arguments)
    assert stopped.returncode == 130, stopped.stderr
    assert "PARTIAL RESULT: interrupted after" in stopped.stderr
    result = json.loads(stopped.stdout)
    assert result["complete"] is False
    assert 0 < result["items"] == result["rows"]["read"] < result["rows"]["total"] == 1200
    assert "partial" in {warning["code"] for warning in result["warnings"]}
    assert 0 < result["systems"][0]["scores"]["sari"]["value"] < 100
    assert main(arguments) == 0
    rest = capsys.readouterr()
    assert "earlier run" in rest.err
    assert json.loads(rest.out)["items"] == 1200


def test_large_corpora_are_streamed_without_being_asked(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one = str(folder / "part-0.parquet")
    assert main(["score", one, "-m", "fkgl", "--resamples", "20", "--no-advice"]) == 0
    assert "Poisson" not in capsys.readouterr().err
    monkeypatch.setattr("plainly.cli.options.LARGE", 1000)
    monkeypatch.setattr("plainly.scoring.corpus_evaluation.HELD", 100)
    assert main(["score", one, "-m", "fkgl", "--resamples", "20", "--processes", "1"]) == 0
    assert "Poisson" in capsys.readouterr().err
    assert main(["score", one, "-m", "fkgl", "--resamples", "20", "--engine", "memory"]) == 0
    assert "Poisson" not in capsys.readouterr().err


def test_what_can_be_asked_of_texts_can_be_asked_of_a_corpus_in_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Subsets, sanity rows, other references, and every item's scores: as in memory, since the corpus can be held."""
    synthetic = make(150)
    references = tuple((*row, row[0] + " a", row[0] + " b", row[0] + " c") for row in synthetic.evalset.references)
    synthetic = replace(synthetic, evalset=replace(synthetic.evalset, references=references))
    path = str(synthetic.write_jsonl(tmp_path / "made.jsonl"))
    segments = ["--segments", str(tmp_path / "segments.csv")]
    for options in (["--by", "length"], ["--sanity"], ["--over", "references"], ["--csv"], segments):
        outputs = []
        for engine_name in ("memory", "local"):
            arguments = ["score", path, "-m", "sari,fkgl", "--resamples", "20", "--engine", engine_name, *options]
            assert main([*arguments, "--processes", "1", "--state", str(tmp_path / "state")]) == 0
            outputs.append(capsys.readouterr().out)
            if options is segments:
                outputs[-1] += Path(segments[1]).read_text()
        assert outputs[0] == outputs[1], options


@pytest.mark.parametrize("option", [["--by", "length"], ["--sanity"], ["--over", "references"]])
def test_what_needs_the_whole_says_so_in_one_line(
    folder: Path, option: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plainly.scoring.corpus_evaluation.HELD", 100)
    assert main(["score", str(folder), "-m", "sari", "--processes", "1", "--restart", *option]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert main(["score", "--demo", "--engine", "local"]) == 2


def test_saved_sums_can_be_compared(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = str(tmp_path / "saved.npz")
    arguments = ["--processes", "1", "--state", str(tmp_path / "state")]
    assert main(["score", str(folder), "-m", "sari", "--save", saved, *arguments]) == 0
    assert main(["compare", str(folder), "-m", "sari", "--json", "--trials", "500", *arguments]) == 0
    capsys.readouterr()
    assert main(["compare", saved, "--json", "--trials", "500", "--no-advice"]) == 0
    assert json.loads(capsys.readouterr().out)["comparisons"][0]["p_value"] < 1


def test_operations_are_labelled_part_by_part(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from plainly.typology import formats
    from plainly.typology.labeller import labeller

    out = tmp_path / "labels"
    arguments = ["operations", "label", str(folder), "--labeller", "rules", "--processes", "2", "-o", str(out)]
    assert main(arguments) == 0
    assert "2,400 pairs labelled" in capsys.readouterr().err
    first = formats.load(out / "part-000000.jsonl")
    synthetic = make(1200)
    system = next(iter(synthetic.outputs))
    held = labeller("rules").label(
        synthetic.evalset.sources[:100], synthetic.outputs[system][:100], ids=synthetic.evalset.ids[:100]
    )
    mine = [pair for pair in first if pair.part == system]
    assert [(pair.id, pair.groups) for pair in mine] == [(pair.id, pair.groups) for pair in held]
    (out / "part-000003.jsonl").unlink()
    assert main(arguments) == 0
    assert "11 of 12 parts were labelled before" in capsys.readouterr().err
    assert (out / "part-000003.jsonl").exists()
    assert main([*arguments, "--on-error", "set-aside"]) == 2
    assert "--restart" in capsys.readouterr().err


def test_an_audit_on_an_engine_gives_the_same_curves() -> None:
    from plainly import data
    from plainly.auditing.attacks import ATTACKS
    from plainly.auditing.sweep import sweep

    evalset, outputs = data.demo()
    first = {name: outputs[name] for name in list(outputs)[:1]}
    attacks = list(ATTACKS.values())[:3]
    here = sweep(evalset, first, ["fkgl"], attacks, trials=6)
    there = sweep(evalset, first, ["fkgl"], attacks, trials=6, engine=LocalEngine(2))
    assert here.curves.keys() == there.curves.keys()
    for key, curve in here.curves.items():
        assert (curve.mean == there.curves[key].mean).all()
        assert (curve.high == there.curves[key].high).all()


class Counting:
    """Work that loads something costly, once for each worker."""

    loads = 0

    def __call__(self, task: int, tell: Tell) -> tuple[int, int]:
        if "_model" not in self.__dict__:
            self.__dict__["_model"] = object()
            Counting.loads += 1
        return os.getpid(), Counting.loads


@pytest.mark.parametrize("processes", [1, 2])
def test_a_worker_keeps_what_it_loaded(processes: int) -> None:
    Counting.loads = 0
    result = [answer for _, answer in LocalEngine(processes).run(Counting(), range(8))]
    assert len({pid for pid, _ in result}) <= processes
    assert all(loads == 1 for _, loads in result)


def test_a_pattern_of_tables_is_one_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, words in enumerate(("A cat sat on the mat.", "The dog ran home.")):
        row = {"source": words, "output": words, "references": [words]}
        (tmp_path / f"{number}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    pattern = str(tmp_path / "*.jsonl")
    for arguments in ([pattern], ["--table", pattern], [str(tmp_path)]):
        assert main(["score", *arguments, "-m", "sari", "--json", "--processes", "1"]) == 0
        assert json.loads(capsys.readouterr().out)["items"] == 2
    assert main(["score", "--table", str(tmp_path / "0*.jsonl"), "-m", "sari", "--engine", "memory", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == 1
    assert main(["score", "--table", pattern, "-m", "sari", "--engine", "memory"]) == 2
    assert "matches 2 files" in capsys.readouterr().err
