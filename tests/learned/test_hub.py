"""Published models from a hub: listed, downloaded once, resumed, never used if they are not what the hub states."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from file_server import Server, Watched, publish
from plainly.cli import main
from plainly.core import registry
from plainly.core.errors import BadInput, DataUnavailable, UnknownName
from plainly.learned.adapters import hub, published

WEIGHTS = b"".join(b"%d " % number for number in range(40_000))
MODEL = {
    "README.md": b"about",
    "config.json": b"{}",
    "tokenizer.json": b'{"version": 1}',
    "merges.txt": b"",
    "model.safetensors": WEIGHTS,
    "pytorch_model.bin": b"the same weights again",
    "tf_model.h5": b"for another library",
    "onnx/model.onnx": b"for a third one",
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    running = Server()
    monkeypatch.setenv("HF_ENDPOINT", running.base)
    monkeypatch.setenv("PLAINLY_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    for name in ("HF_HUB_OFFLINE", "HF_TOKEN", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    yield running
    running.close()


def requested(server: Server) -> list[str]:
    return [path.rpartition("/")[2] for path, _ in server.requests]


def test_a_model_is_downloaded_checked_and_found_again_without_a_network(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(server, "some/model", MODEL)
    watched = Watched()
    path = hub.download("some/model", progress=watched)
    assert path == hub.folder() / "some/model"
    assert sorted(file.name for file in path.iterdir()) == [
        "config.json", "merges.txt", "model.safetensors", "plainly-model.json", "tokenizer.json",
    ]  # fmt: skip
    assert (path / "model.safetensors").read_bytes() == WEIGHTS
    total = sum(len(MODEL[name]) for name in ("config.json", "tokenizer.json", "merges.txt", "model.safetensors"))
    assert watched.bars == [("downloading some/model", total, "bytes")]
    assert sum(watched.told) == total

    count = len(server.requests)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert hub.directory("some/model") == path
    assert len(server.requests) == count


def test_a_download_that_is_cut_resumes_where_it_stopped(server: Server) -> None:
    publish(server, "some/model", MODEL)
    server.cut = 50_000
    with pytest.raises(DataUnavailable, match=r"bytes instead of.*Run again to resume: plainly models get some/model"):
        hub.download("some/model")
    assert hub.find("some/model") is None
    assert hub.find("some/model", "encoder") is None, "files of an interrupted download are not used"

    server.cut, server.requests[:] = None, []
    path = hub.download("some/model")
    assert ("/some/model/resolve/c0ffee/model.safetensors", "bytes=150000-") in server.requests
    assert "config.json" not in requested(server), "what is complete is not downloaded again"
    assert (path / "model.safetensors").read_bytes() == WEIGHTS


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
def test_a_corrupted_download_is_refused_and_a_corrupted_file_replaced(server: Server, file: str) -> None:
    publish(server, "some/model", MODEL)
    address = f"/some/model/resolve/c0ffee/{file}"
    server.files[address] = MODEL[file][:-1] + b"?"
    with pytest.raises(DataUnavailable, match=r"its (SHA-256|id in git) is"):
        hub.download("some/model")
    assert hub.find("some/model") is None
    server.files[address] = MODEL[file]
    path = hub.download("some/model")

    (path / file).write_bytes(MODEL[file][:-1] + b"!")  # of the same size: found by its digest
    hub.download("some/model")
    assert (path / file).read_bytes() == MODEL[file]
    (path / file).write_bytes(b"")  # of another size: found without computing digests
    assert hub.find("some/model") is None


def test_weights_are_downloaded_once_and_only_where_they_are_needed(server: Server) -> None:
    publish(server, "some/model", MODEL)
    hub.directory("some/model", part="encoder")
    assert "model.safetensors" not in requested(server)
    assert hub.find("some/model") is None
    hub.directory("some/model")
    assert requested(server).count("config.json") == 1
    publish(server, "old/model", {name: content for name, content in MODEL.items() if name != "model.safetensors"})
    assert (hub.directory("old/model") / "pytorch_model.bin").is_file()
    publish(server, "no/model", {"README.md": b"about", "../../evil.json": b"{}"})
    with pytest.raises(DataUnavailable, match="no files of a model"):
        hub.directory("no/model")


def test_get_fetches_what_a_metric_needs(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    settings = b"class_identifier: regression_metric_multi_ref\npretrained_model: roberta-large\n"
    publish(server, "davidheineman/lens", {"hparams.yaml": settings, "checkpoints/a.ckpt": WEIGHTS, "README.md": b""})
    publish(server, "roberta-large", MODEL)
    assert main(["models", "get", "lens", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["models"]
    assert [(row["name"], row["files"], row["licence"]) for row in rows] == [
        ("davidheineman/lens", 2, "mit"), ("roberta-large", 3, "mit"),
    ]  # fmt: skip
    assert rows[0]["bytes"] == len(settings) + len(WEIGHTS)
    row = next(row for row in published.catalogue().records() if row["name"] == "davidheineman/lens")
    assert (row["where"], row["licence"], row["revision"]) == ("yes", "mit", "c0ffee")


def test_a_missing_network_is_one_sentence_after_one_try(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "get", "meaningbert"]) == 2  # the hub answers, but has no such model
    assert "404" in capsys.readouterr().err
    assert len(server.requests) == 1
    server.close()
    assert main(["models", "get", "meaningbert"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "'davebulaval/MeaningBERT' is not on this machine" in captured.err
    assert "refused" in captured.err
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataUnavailable, match="HF_HUB_OFFLINE is set"):
        hub.directory("davebulaval/MeaningBERT")


def test_an_answer_that_is_not_a_hubs_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for answer in (b"<html>", b"[]", b'{"siblings": [{}]}', b'{"siblings": 3}'):
        server.files["/api/models/some/model?blobs=true"] = answer
        with pytest.raises(DataUnavailable, match="HF_ENDPOINT"):
            hub.directory("some/model")
    monkeypatch.setenv("HF_ENDPOINT", "nonsense")
    with pytest.raises(DataUnavailable, match="HF_ENDPOINT"):
        hub.directory("some/model")


def test_models_of_other_tools_and_copied_folders_are_used(server: Server, tmp_path: Path) -> None:
    cache = tmp_path / "huggingface" / "hub" / "models--some--model"
    snapshot = cache / "snapshots" / "abc"
    (cache / "refs").mkdir(parents=True)
    (cache / "refs" / "main").write_text("abc")
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_bytes(b"{}")
    assert hub.find("some/model") is None, "it is not complete"
    for name in ("tokenizer.json", "model.safetensors"):
        (snapshot / name).write_bytes(MODEL[name])
    assert hub.directory("some/model") == snapshot

    copy = hub.folder() / "some" / "model"  # by hand, without a manifest
    copy.mkdir(parents=True)
    for name in ("config.json", "tokenizer.json", "pytorch_model.bin"):
        (copy / name).write_bytes(MODEL[name])
    assert hub.directory("some/model") == copy
    assert server.requests == []


def test_the_token_is_sent_to_the_hub_only(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from plainly.core.downloads import request

    made = request("http://hub.example/x", token="secret", start=7)
    assert made.get_header("Authorization") == "Bearer secret"
    assert made.headers == {"User-agent": made.get_header("User-agent"), "Range": "bytes=7-"}, "not after a redirect"


def test_an_unwritable_folder_is_reported(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(server, "some/model", MODEL)
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("PLAINLY_MODELS", str(tmp_path / "file" / "models"))
    with pytest.raises(DataUnavailable, match="PLAINLY_MODELS"):
        hub.directory("some/model")


def test_names_that_are_no_models() -> None:
    for name in ("../secret", "a/b/c", "", "/nowhere"):
        with pytest.raises(DataUnavailable, match="neither a directory nor"):
            hub.directory(name)
        with pytest.raises(DataUnavailable, match="neither a directory nor"):
            hub.download(name)
    with pytest.raises(UnknownName, match="Did you mean 'lens'"):
        published.get("lense")
    with pytest.raises(BadInput, match="nothing to download"):
        published.get("quality")
    with pytest.raises(BadInput, match="no published model"):
        published.get("sari")


def test_the_list_has_every_default_of_every_metric() -> None:
    defaults = {
        (value, name)
        for name in registry.METRICS
        for parameter in inspect.signature(registry.metric_class(name)).parameters.values()
        if isinstance(value := parameter.default, str) and "/" in value
    }
    assert defaults == {(card.name, metric) for card in published.cards().values() for metric in card.metrics}


def test_the_list_states_what_is_known_and_what_is_not(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    by_name = {line.split()[0]: line for line in lines if line.strip()}
    assert "shipped" in by_name["plainly-quality-3"]
    assert "Pearson" in by_name["plainly-quality-3"]
    assert "MIT" in by_name["FacebookAI/roberta-large"]
    assert "1.42 GB" in by_name["FacebookAI/roberta-large"]
    assert by_name["liamcripwell/sle-base"].count("not known") == 2
    assert main(["models", "info", "lens"]) == 0
    assert "https://huggingface.co/davidheineman/lens" in capsys.readouterr().out
    assert server.requests == [], "listing needs no network"
