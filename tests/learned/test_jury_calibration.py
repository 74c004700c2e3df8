"""Calibration of judges on human ratings: the map, its error on other sources, and what it may be applied to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

import plainly
from judge_server import JudgeServer, run_server, texts_of, write_judges
from plainly.cli import main
from plainly.core.calls import call_options
from plainly.core.errors import BadInput, BadSpec
from plainly.metrics.calibration import fit_monotone, read_calibration

SOURCES = [f"The committee postponed decision number {number}." for number in range(60)]


def _points(texts: dict[str, str], criterion: str) -> float:
    """Points that rise with the number in the output, far too high and not in a line."""
    (quality,) = re.findall(r"quality (\d+)", texts["simplified"])
    return 70 + 30 * (int(quality) / 100) ** 3


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with run_server(points=_points) as server:
        write_judges(tmp_path / "judges.toml", server.port, "a", "b")
        yield server


def _write_ratings(sources: int = 60) -> None:
    rng = np.random.default_rng(1)
    rows = ["system,item,rater,source,output,quality"]
    for item in range(sources):
        for system in "AB":
            quality = int(rng.integers(0, 101))
            for rater in range(3):
                rating = int(np.clip(round(1 + 4 * quality / 100 + rng.normal(0, 0.5)), 1, 5))
                rows.append(f"{system},{item},{rater},{SOURCES[item]},It has quality {quality}.,{rating}")
    Path("ratings.csv").write_text("\n".join(rows), encoding="utf-8")


def _meta(capsys: pytest.CaptureFixture[str], *more: str, metric: str = "judge(model=a)") -> tuple[int, str, str]:
    arguments = ["meta", "ratings.csv", "-m", metric, "--scale", "1..5", "--judges", "judges.toml"]
    status = main([*arguments, "--calibrate", "map.json", *more])
    return status, *capsys.readouterr()


def test_the_map_is_isotonic_regression() -> None:
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 30, 300).astype(float)
    values = np.sqrt(scores) + rng.normal(0, 1, 300)
    places, means = fit_monotone(scores, values)
    assert all(np.diff(places) > 0)
    assert all(np.diff(means) > 0)
    grid, which = np.unique(scores, return_inverse=True)
    sizes = np.bincount(which)
    reference = isotonic_regression(np.bincount(which, values) / sizes, weights=sizes)
    np.testing.assert_allclose(means, np.unique(reference.x))
    blocks = np.searchsorted(np.unique(reference.x), reference.x - 1e-9)
    np.testing.assert_allclose(places, np.bincount(blocks, sizes * grid) / np.bincount(blocks, sizes))


def test_a_calibration_reduces_the_error_on_other_sources(
    server: JudgeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_ratings()
    status, out, err = _meta(capsys, "--json")
    assert status == 0, err
    result = json.loads(out)["calibration"]
    before, after, gain, constant = result["errors"]
    assert (before["error"], after["error"], gain["error"]) == ("before", "after", "gain")
    assert result["sources"] == 30
    assert before["value"] > 1
    assert after["value"] < 0.45
    assert gain["low"] > 0.5
    assert gain["value"] == pytest.approx(before["value"] - after["value"])
    assert constant["value"] > 2 * after["value"]
    count = server.count
    with call_options(judges="judges.toml"):
        scores = plainly.score(
            sources=SOURCES[:3],
            outputs=["It has quality 0.", "It has quality 60.", "It has quality 100."],
            metrics=["judge(model=a,calibration=map.json)"],
        )["judge(model=a,calibration=map.json)"]
    assert server.count <= count + 3
    low, middle, high = scores.segments["quality"]
    assert (low, high) == (pytest.approx(1.1, abs=0.35), pytest.approx(4.9, abs=0.35))
    assert middle == pytest.approx(1 + 4 * 0.6, abs=0.5)
    assert f"|calibration:{read_calibration('map.json').hash}" in str(scores.signature)


def test_no_source_is_in_both_halves(server: JudgeServer, capsys: pytest.CaptureFixture[str]) -> None:
    _write_ratings()
    assert _meta(capsys)[0] == 0
    made = read_calibration("map.json")
    assert (made.sources, made.outputs) == (30, 60)
    assert made.scale == (1, 5)
    assert {part.partition(":")[0] for part in made.holds_for} >= {"rubric", "model", "layout", "repeat"}


@pytest.mark.parametrize(
    ("spec", "change", "reason"),
    [
        ("judge(model=a,rubric=meaning,calibration=map.json)", {}, "rubric"),
        ("judge(model=a,repeat=2,calibration=map.json)", {}, "repeat"),
        ("judge(model=a,calibration=map.json)", {"model": "another"}, "model"),
        ("judge(model=a,calibration=map.json)", {"temperature": 1}, "temperature"),
        ("jury(judges=a+b,calibration=map.json)", {}, "model"),
    ],
)
def test_a_calibration_of_another_judge_is_refused(
    server: JudgeServer, capsys: pytest.CaptureFixture[str], spec: str, change: dict[str, object], reason: str
) -> None:
    _write_ratings()
    assert _meta(capsys)[0] == 0
    write_judges(Path("judges.toml"), server.port, "a", "b", **change)
    count = server.count
    with call_options(judges="judges.toml"), pytest.raises(BadInput, match=rf"map\.json was made for .*{reason}"):
        plainly.score(sources=SOURCES[:1], outputs=["It has quality 5."], metrics=[spec])
    assert server.count == count, "nothing is paid for"


def test_a_jury_is_calibrated_as_a_whole(server: JudgeServer, capsys: pytest.CaptureFixture[str]) -> None:
    _write_ratings()
    status, _, err = _meta(capsys, metric="jury(judges=a+b)")
    assert status == 0, err
    spec = "jury(judges=a+b,calibration=map.json)"
    with call_options(judges="judges.toml"):
        scores = plainly.score(sources=SOURCES[:1], outputs=["It has quality 100."], metrics=[spec])[spec]
    assert scores.corpus["quality"] == pytest.approx(4.9, abs=0.3)
    assert scores.corpus["a"] == 100


def test_what_cannot_be_calibrated_is_refused(server: JudgeServer, capsys: pytest.CaptureFixture[str]) -> None:
    _write_ratings(19)
    status, _, err = _meta(capsys)
    assert (status, "20 sources" in err) == (2, True)
    _write_ratings()
    status, _, err = _meta(capsys, metric="fkgl")
    assert (status, "--calibrate FILE" in err) == (2, True)
    assert not Path("map.json").exists()
    count = server.count
    status, out, _ = _meta(capsys, "--dry-run")
    assert (status, server.count, "Nothing was sent" in out) == (0, count, True)
    assert not Path("map.json").exists()
    with pytest.raises(BadInput, match="cannot be read"):
        plainly.metric("judge(calibration=map.json)")
    Path("map.json").write_text("{", encoding="utf-8")
    with pytest.raises(BadInput, match="not a calibration"):
        plainly.metric("judge(calibration=map.json)")
    Path("map.json").unlink()
    assert _meta(capsys)[0] == 0
    with pytest.raises(BadSpec, match="one criterion"):
        plainly.metric("judge(rubric=fluency+meaning,calibration=map.json)")
    status, _, err = _meta(capsys, metric="judge(model=a,calibration=map.json)")
    assert (status, "already" in err) == (2, True)


def test_a_judge_against_people_gets_a_constant_and_a_warning(
    server: JudgeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.points = lambda texts, criterion: 100 - _points(texts, criterion)
    _write_ratings()
    status, out, _ = _meta(capsys, "--json")
    assert status == 0
    assert len(read_calibration("map.json").scores) < 3
    errors = {row["error"]: row["value"] for row in json.loads(out)["calibration"]["errors"]}
    assert errors["after"] == pytest.approx(errors["constant"], abs=0.05)


def test_a_calibrated_judge_is_in_the_evidence_of_the_report(
    server: JudgeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_ratings()
    assert _meta(capsys)[0] == 0
    made = read_calibration("map.json")
    Path("source.txt").write_text("\n".join(SOURCES[:5]), encoding="utf-8")
    Path("a.txt").write_text("\n".join(["It has quality 50."] * 5), encoding="utf-8")
    spec = "judge(model=a,calibration=map.json)"
    arguments = ["report", "a.txt", "--source", "source.txt", "-m", f"{spec},quality", "--judges", "judges.toml"]
    assert main([*arguments, "--no-audit", "-o", "page.html", "--json"]) == 0
    agreement = json.loads(capsys.readouterr().out)["agreement"]
    (row,) = (row for row in agreement if row["set"] == "ratings.csv")
    assert row["pearson"] == made.agreement["pearson"] > 0.8
    assert row["low"] < row["pearson"] < row["high"]
    assert row["n"] == 60
    assert len(agreement) > 1, "beside the other metrics"
    assert "ratings.csv" in Path("page.html").read_text(encoding="utf-8")


def test_a_panel_is_compared_with_its_best_member(server: JudgeServer, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(5)
    noise: dict[tuple[str, str], float] = {}

    def answer(body: dict[str, Any]) -> str:
        text, model = texts_of(body)["simplified"], body["model"]
        (quality,) = re.findall(r"quality (\d+)", text)
        points = 100 - int(quality) if model == "c" else int(quality)
        error = noise.setdefault((model, text), float(rng.normal(0, 30)))
        return json.dumps({"quality": float(np.clip(points + error, 0, 100))})

    server.answer = answer
    files = [write_judges(Path(f"{name}.toml"), server.port, name, model=name) for name in "abcd"]
    Path("judges.toml").write_text("\n".join(file.read_text(encoding="utf-8") for file in files), encoding="utf-8")
    _write_ratings()
    arguments = ["meta", "ratings.csv", "--scale", "1..5", "--judges", "judges.toml", "--json"]
    assert main([*arguments, "-m", "jury(judges=a+b+d)"]) == 0
    panel = json.loads(capsys.readouterr().out)["panel"]
    values = {row["member"]: row["value"] for row in panel["correlations"]}
    best = max("abd", key=values.__getitem__)
    assert panel["best_member"] == best
    assert panel["gain"]["difference"] == pytest.approx(values["jury(judges=a+b+d)"] - values[best])
    assert panel["gain"]["difference"] > 0.03
    assert panel["gain"]["p_value"] < 0.05
    assert {"Krippendorff's alpha, interval", "ICC, random, one rater"} <= {row["name"] for row in panel["agreement"]}
    assert not any(member["outlying"] for member in panel["members"])
    assert main([*arguments, "-m", "jury(judges=a+b+c+d)"]) == 0
    members = json.loads(capsys.readouterr().out)["panel"]["members"]
    assert [member["name"] for member in members if member["outlying"]] == ["c"]
