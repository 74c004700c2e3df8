"""The command line as people use it: right, wrong, and in a pipe."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from plainly import data
from plainly.cli import main
from plainly.cli.options import split_references
from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.scoring.score_file import open_saved


@pytest.fixture
def files(tmp_path: Path) -> Path:
    evalset, outputs = data.demo()
    (tmp_path / "src.txt").write_text("\n".join(evalset.sources) + "\n", encoding="utf-8")
    for number in range(4):
        lines = (references[number] for references in evalset.references)
        (tmp_path / f"ref.{number}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for system in ("editor", "copy"):
        (tmp_path / f"{system}.txt").write_text("\n".join(outputs[system]) + "\n", encoding="utf-8")
    return tmp_path


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main([*arguments, "--json"]) == 0
    payload: dict[str, object] = json.loads(capsys.readouterr().out)
    return payload


def _values(payload: dict[str, object], spec: str) -> dict[str, float]:
    return {each["system"]: each["scores"][spec]["value"] for each in payload["systems"]}  # type: ignore[attr-defined, index]


def test_the_demo_scores_every_system(capsys: pytest.CaptureFixture[str]) -> None:
    payload = _json(capsys, "score", "--demo")
    assert payload["schema"] == "plainly.score/1"
    assert payload["items"] == 72
    values = _values(payload, "sari")
    assert values["copy"] < values["truncate"] < values["delete"] < values["editor"]
    scores = payload["systems"][0]["scores"]["sari"]  # type: ignore[index]
    assert scores["low"] <= scores["value"] <= scores["high"]
    assert scores["signature"].startswith("sari(variant=easse")
    assert "refs:4" in scores["signature"]


def test_files_give_the_same_numbers_as_the_demo(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo = _values(_json(capsys, "score", "--demo", "editor", "copy", "-m", "sari,bleu"), "sari")
    references = [str(files / f"ref.{number}.txt") for number in range(4)]
    source, outputs = str(files / "src.txt"), [str(files / "editor.txt"), str(files / "copy.txt")]
    expanded = _json(capsys, "score", "--source", source, "--references", *references, *outputs, "-m", "sari")
    pattern = _json(
        capsys, "score", *outputs, "--source", source, "--references", str(files / "ref.*.txt"), "-m", "sari"
    )
    dashes = _json(capsys, "score", "--source", source, "--references", *references, "-m", "sari", "--", *outputs)
    for payload in (expanded, pattern, dashes):
        assert _values(payload, "sari") == pytest.approx(demo)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_tables_give_the_same_numbers(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evalset, outputs = data.demo()
    rows = [
        {"id": i, "source": s, **{f"reference_{n}": r for n, r in enumerate(refs)}, "output_editor": o}
        for i, s, refs, o in zip(evalset.ids, evalset.sources, evalset.references, outputs["editor"], strict=True)
    ]
    path = tmp_path / f"data.{suffix}"
    if suffix == "parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, list(rows[0]), delimiter="\t" if suffix == "tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    demo = _values(_json(capsys, "score", "--demo", "editor", "-m", "sari"), "sari")
    assert _values(_json(capsys, "score", str(path), "-m", "sari"), "sari") == pytest.approx(demo)


def test_stdin_is_an_output(files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(files)
    with (files / "editor.txt").open(encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        payload = _json(capsys, "score", "-", "--source", "src.txt", "--references", "ref.*.txt")
    assert next(iter(_values(payload, "sari").values())) > 40


def test_a_named_set_and_a_named_system(mirror: Path, capsys: pytest.CaptureFixture[str]) -> None:
    payload = _json(capsys, "score", "-t", "asset/test", "-m", "sari", "ACCESS")
    assert payload["test_set"] == "asset/test"
    assert round(_values(payload, "sari")["ACCESS"], 2) == 40.13


@pytest.mark.parametrize("form", ["csv", "long", "latex", "markdown"])
def test_other_forms(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--demo", "-m", "sari", "editor", f"--{form}"]) == 0
    out = capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(out)))
    outputs = registry.metric_class("sari").outputs
    if form == "csv":
        assert [row["system"] for row in rows] == ["editor"]
        assert float(rows[0]["sari"]) == pytest.approx(61.08, abs=0.01)
        assert float(rows[0]["sari.low"]) < float(rows[0]["sari"]) < float(rows[0]["sari.high"])
        assert {f"sari.{output}" for output in outputs[1:]} <= set(rows[0])
    elif form == "long":
        assert float(rows[0]["value"]) == pytest.approx(61.08, abs=0.01)
        assert {row["output"] for row in rows} == set(outputs)
    else:
        assert "61.08" in out
        assert (r"\toprule" in out) == (form == "latex")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_segments_average_as_they_should(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / f"segments.{suffix}"
    spec = "sari(variant=hf)"
    assert main(["score", "--demo", "-m", spec, "editor", "--segments", str(target), "--json"]) == 0
    corpus = json.loads(capsys.readouterr().out)["systems"][0]["scores"][spec]["value"]
    if suffix == "parquet":
        import pyarrow.parquet

        values = pyarrow.parquet.read_table(target)[spec].to_pylist()
    elif suffix == "jsonl":
        values = [json.loads(line)[spec] for line in target.read_text(encoding="utf-8").splitlines()]
    else:
        reader = csv.DictReader(
            io.StringIO(target.read_text(encoding="utf-8")), delimiter="\t" if suffix == "tsv" else ","
        )
        values = [float(row[spec]) for row in reader]
    assert len(values) == 72
    assert np.mean(values) == pytest.approx(corpus)


def test_saved_rows_give_the_scores_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "scores.npz"
    payload = _json(capsys, "score", "--demo", "-m", "sari,bleu,fkgl", "--save", str(target))
    saved = open_saved(str(target))
    assert saved.evalset.groups is not None
    for spec in ("sari", "bleu", "fkgl"):
        assert {system: float(saved[system][spec]) for system in saved} == pytest.approx(_values(payload, spec))
    (tmp_path / "other.npz").write_bytes(b"not scores")
    with pytest.raises(BadInput, match=r"other\.npz"):
        open_saved(str(tmp_path / "other.npz"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scroe"], "Did you mean 'score'?"),
        (["score"], "Nothing to score"),
        (["score", "--demo", "-m", "sarri"], "Unknown metric 'sarri'. Did you mean 'sari'? See: plainly metrics"),
        (["score", "--demo", "-m", "sari(varient=hf)"], "Did you mean 'variant'?"),
        (["score", "--demo", "-m", "sari(variant=hff)"], "Did you mean 'hf'?"),
        (["score", "--demo", "-m", "sari(variant=hf"], "do not match"),
        (["score", "--demo", "-m", "bleu(max_order=x)"], "is a number"),
        (["score", "--demo", "-m", ","], "names no metric"),
        (["score", "--demo", "editr"], "Did you mean 'editor'?"),
        (["score", "missing.txt"], "missing.txt"),
        (["score", "-t", "asset/tset", "ACCESS"], "Did you mean 'asset/test'?"),
        (["score", "--demo", "-t", "asset/test"], "Give one of"),
        (["score", "--demo", "--level", "95"], "between 0 and 1"),
        (["score", "--demo", "--resamples", "0"], "at least 1"),
        (["score", "--demo", "--segments", "out.txt"], ".csv"),
        (["score", "--demo", "--save", "nowhere/x.npz"], "no directory"),
        (["score", "--columns", "source", "x.csv"], "ROLE=COLUMN"),
        (["metrics", "nothing"], "Unknown metric"),
        (["metrics", "chrf", "--explain"], "Only sari, bleu and fkgl"),
        (["metrics", "--explain"], "Which metric"),
    ],
)
def test_mistakes_are_named_with_the_next_step(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_wrong_lengths_leave_nothing_behind(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "short.txt").write_text("one\ntwo\n", encoding="utf-8")
    arguments = ["--source", str(files / "src.txt"), "--references", str(files / "ref.*.txt")]
    segments = files / "segments.csv"
    assert main(["score", str(files / "short.txt"), *arguments, "--segments", str(segments)]) == 2
    captured = capsys.readouterr()
    assert "short.txt" in captured.err
    assert "72" in captured.err
    assert captured.out == ""
    assert not segments.exists()


def test_unknown_options_exit_with_two() -> None:
    assert main(["score", "--demo", "--no-such-option"]) == 2


def test_empty_outputs_are_scored_and_undefined_is_null(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "empty.txt").write_text("\n" * 72, encoding="utf-8")
    arguments = ["--source", str(files / "src.txt"), "--references", str(files / "ref.*.txt")]
    payload = _json(capsys, "score", str(files / "empty.txt"), *arguments, "-m", "sari,bleu,fkgl")
    assert _values(payload, "fkgl")["empty"] is None
    assert _values(payload, "bleu")["empty"] == 0
    assert _values(payload, "sari")["empty"] > 0


def test_references_are_told_from_outputs_after_a_shell_expanded_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert split_references(["d/ref.0.txt", "d/ref.1.txt", "d/ref.10.txt", "A.txt"])[1] == ["A.txt"]
    assert split_references(["asset.test.simp.0", "asset.test.simp.1", "ACCESS"])[1] == ["ACCESS"]
    assert split_references(["ref.a.txt", "ref.b.txt", "out.txt"])[1] == ["out.txt"]
    assert split_references(["gold.txt", "system.txt", "other.txt"]) == (["gold.txt"], ["system.txt", "other.txt"])
    assert "gold.txt" in capsys.readouterr().err
    with pytest.raises(BadInput, match="--references"):
        split_references(["ref1.txt", "ref2.txt"])


def test_a_closed_pipe_is_no_error() -> None:
    script = f"{sys.executable} -m plainly metrics --json | head -n 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True, env={**os.environ})
    assert b"Traceback" not in done.stderr


def test_metrics_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert {each["name"] for each in _json(capsys, "metrics")["metrics"]} == set(registry.names())  # type: ignore[attr-defined]
    assert main(["metrics", "sari"]) == 0
    assert "joshua" in capsys.readouterr().out
    explained = _json(capsys, "metrics", "sari", "--explain", "--demo", "editor", "noisy")
    scores = {each["spec"]: each["scores"] for each in explained["variants"]}  # type: ignore[attr-defined]
    assert scores["sari(variant=hf)"]["a copy of the source"] > scores["sari"]["a copy of the source"]
    assert explained["explanation"]


def test_advice_is_given_once_and_can_be_silenced(capsys: pytest.CaptureFixture[str]) -> None:
    main(["score", "--demo", "-m", "fkgl,bleu"])
    printed = capsys.readouterr()
    assert printed.err.count("FKGL only sees") == 1
    assert printed.err.count("not suitable for ranking") == 1
    main(["score", "--demo", "-m", "fkgl,bleu", "--no-advice"])
    assert "FKGL only sees" not in capsys.readouterr().err


def test_the_overview_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    from plainly.cli import commands

    assert main([]) == 0
    overview = capsys.readouterr().out
    assert all(command in overview for command in commands())
    assert main(["--version"]) == 0


def test_a_program_named_in_a_file_of_scores_is_never_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = tmp_path / "ran"
    script = tmp_path / "metric.sh"
    script.write_text(f'#!/bin/sh\ntouch {ran}\nwhile read -r line; do echo "1"; done\n')
    saved = str(tmp_path / "saved.npz")
    assert main(["score", "--demo", "-m", f"command(run=sh {script}),fkgl", "--save", saved, "editor", "noisy"]) == 0
    ran.unlink()
    assert main(["compare", saved, "--trials", "99"]) == 0
    assert main(["report", saved, "--demo", "editor", "noisy", "-o", str(tmp_path / "page.html")]) == 0
    assert not ran.exists()
    evaluation = open_saved(saved)
    command = next(metric for spec, metric in evaluation.metrics.items() if spec.startswith("command"))
    with pytest.raises(BadInput, match="command"):
        command.measure(evaluation.evalset, ["x"])


@pytest.mark.parametrize("option", ["--save", "--segments", "--set-aside"])
def test_no_output_is_an_input_and_nothing_of_others_is_overwritten(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = {"--save": "x.npz", "--segments": "x.csv", "--set-aside": "x.jsonl"}[option]
    precious = tmp_path / name
    precious.write_text("precious")
    assert main(["score", "--demo", "-m", "fkgl", option, str(precious)]) == 2
    assert str(precious) in capsys.readouterr().err
    assert precious.read_text() == "precious"
    if option != "--set-aside":  # the demo has no rows to set aside
        assert main(["score", "--demo", "-m", "fkgl", option, str(precious), "--force"]) == 0
        assert main(["score", "--demo", "-m", "fkgl", option, str(precious)]) == 0, "our own may be written again"
    table = tmp_path / "in.jsonl"
    table.write_text('{"output": "A cat sat."}\n')
    link = tmp_path / ("link.npz" if option == "--save" else "link.csv" if option == "--segments" else "link.jsonl")
    link.symlink_to(table)
    assert main(["score", str(table), "-m", "fkgl", option, str(link), "--force"]) == 2
    assert str(link) in capsys.readouterr().err
    assert table.read_text() == '{"output": "A cat sat."}\n'


def test_files_keep_their_links_and_permissions(tmp_path: Path) -> None:
    import os
    import stat

    from plainly.core.files import write_whole

    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o600)
    (tmp_path / "link").symlink_to("new")
    write_whole(tmp_path / "link", "y")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "new").read_text() == "y"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
    write_whole("/dev/null", "nothing is replaced")
    assert not Path("/dev/null").is_file()
    with pytest.raises(BadInput, match="/dev/full"):
        write_whole("/dev/full", "x" * 10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "new"]
