"""On a real Ray runtime (local, two workers): the same numbers for every partitioning, also when an actor is killed."""

from __future__ import annotations

import contextlib
import http.server
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from corpora import Synthetic, make
from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.core.progress import ignore_progress
from plainly.core.sampling import Sampling
from plainly.scoring.corpus_evaluation import CorpusOptions, evaluate_corpus
from plainly.scoring.evaluate import evaluate
from plainly.streaming.corpus import open_corpus

# Ray's own: sockets and processes that it leaves to the operating system, and its plans for later versions.
pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra: pip install 'plainly[ray]'"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
METRICS = ["sari", "sari(variant=xu)", "fkgl"]


@pytest.fixture(scope="module")
def runtime() -> Iterator[None]:
    import ray

    ray.init(
        address="local", num_cpus=2, object_store_memory=100_000_000, include_dashboard=False, log_to_driver=False,
        logging_level=logging.ERROR,
    )  # fmt: skip
    assert ray.cluster_resources()["CPU"] == 2
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def synthetic() -> Synthetic:
    return make(2400)


def _actors() -> list[int]:
    """The process ids of this runtime's actors."""
    from ray._private.worker import global_worker

    session = global_worker.node.session_name.encode()
    result = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if b"MapWorker" in (entry / "cmdline").read_bytes():
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                if session in Path(f"/proc/{parent}/cmdline").read_bytes():
                    result.append(int(entry.name))
    return result


def test_any_partitioning_and_a_killed_actor_give_the_scores_of_the_whole(
    tmp_path: Path, runtime: None, synthetic: Synthetic
) -> None:
    from plainly.streaming.engines.ray import RayEngine

    whole = evaluate(synthetic.evalset, synthetic.outputs, METRICS, sampling=None)
    killed: list[int] = []
    rows: list[int] = []

    def kill_one(amount: int) -> None:
        rows.append(amount)
        if amount and not killed:
            victim = _actors()[0]
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    intervals = []
    for number, (files, rows_a_group) in enumerate([(1, 3000), (4, 40)]):
        folder = synthetic.write_parquet(tmp_path / str(number), files=files, rows_a_group=rows_a_group)
        tell = kill_one if files > 1 else ignore_progress
        result = evaluate_corpus(
            open_corpus([str(folder)]),
            METRICS,
            CorpusOptions(RayEngine(), segments=tmp_path / f"segments{number}", hold=False),
            sampling=Sampling(resamples=100),
            progress=lambda what, *, total, unit="", tell=tell: contextlib.nullcontext(tell),
        )
        assert result.complete
        for system, by in whole.systems.items():
            for spec, scores in by.items():
                assert result[system][spec].corpus == {
                    name: pytest.approx(value, rel=1e-12, abs=1e-12) for name, value in scores.corpus.items()
                }
        intervals.append(result["copy" if "copy" in whole else next(iter(whole))]["sari"].value)
        table = pq.read_table(tmp_path / f"segments{number}")
        assert table.num_rows == len(synthetic.evalset) * len(synthetic.outputs)
    assert len(killed) == 1
    assert sum(rows) == len(synthetic.evalset)
    assert intervals[0].low == pytest.approx(intervals[1].low, rel=1e-12)


def test_bad_rows_stop_or_are_set_aside(tmp_path: Path, runtime: None, synthetic: Synthetic) -> None:
    from plainly.streaming.engines.ray import RayEngine

    path = synthetic.write_jsonl(tmp_path / "made.jsonl")
    lines = path.read_text("utf-8").splitlines(keepends=True)
    lines[6] = "no json\n"
    path.write_text("".join(lines[:300]), "utf-8")
    with pytest.raises(BadInput, match=r"made\.jsonl, row 7: this line is not JSON"):
        evaluate_corpus(open_corpus([str(path)]), ["fkgl"], CorpusOptions(RayEngine()))
    options = CorpusOptions(RayEngine(), on_error="set-aside", hold=False)
    reading = evaluate_corpus(open_corpus([str(path)]), ["fkgl"], options).reading
    assert reading is not None
    assert (reading.set_aside, reading.read, reading.bad[0].first) == (1, 300, 7)


def test_commands_run_on_ray(
    tmp_path: Path, runtime: None, synthetic: Synthetic, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(synthetic.write_parquet(tmp_path / "shards", files=2, rows_a_group=600))
    state = ["--state", str(tmp_path / "state.npz")]
    results = []
    for engine in (["--engine", "ray"], ["--engine", "local", "--processes", "1"]):
        assert main(["score", folder, "-m", "sari", "--json", *engine, *state]) == 0
        results.append(json.loads(capsys.readouterr().out)["systems"][0]["scores"]["sari"])
    rounded = {bound: pytest.approx(results[1][bound]) for bound in ("low", "high")}
    assert results[0] == {**results[1], **rounded}
    assert main(["compare", folder, "-m", "sari", "--json", "--engine", "ray", "--trials", "200", *state]) == 0
    assert json.loads(capsys.readouterr().out)["comparisons"][0]["n"] == len(synthetic.evalset)
    labels = tmp_path / "labels"
    assert main(["operations", "label", folder, "--labeller", "rules", "-o", str(labels), "--engine", "ray"]) == 0
    assert f"{2 * len(synthetic.evalset):,} pairs labelled" in capsys.readouterr().err
    audits = []
    for engine in (["--engine", "ray"], ["--processes", "1"]):
        assert main(["audit", "--demo", "-m", "fkgl", "--trials", "6", "--attacks", "paper", "--json", *engine]) == 0
        audits.append(json.loads(capsys.readouterr().out))
    assert audits[0] == audits[1]


def test_standard_output_carries_nothing_but_results(tmp_path: Path) -> None:
    """A metric that prints, on a cluster that prints: what a program reads from the pipe is still JSON."""
    (tmp_path / "noisy_metric.py").write_text(
        "import os\nfrom dataclasses import dataclass\nimport numpy as np\n"
        "import plainly.streaming.engines.ray as engine\nstart = engine.RayEngine._start\n"
        "def loud(self, ray):\n    os.write(1, b'noise of Ray\\n')\n    print('more')\n    return start(self, ray)\n"
        "engine.RayEngine._start = loud\n"
        "@dataclass(frozen=True)\nclass Noisy:\n    name = 'noisy'\n    needs = frozenset()\n    better = 'higher'\n"
        "    outputs = ('noisy',)\n"
        "    def measure(self, evalset, outputs):\n        print('noise of a metric', flush=True)\n"
        "        os.write(1, b'noise\\n')\n        return np.ones((len(outputs), 2))\n"
        "    def score(self, totals):\n        return totals[..., :1] / totals[..., 1:]\n",
        encoding="utf-8",
    )
    info = tmp_path / "noisy_metric-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: noisy-metric\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[plainly.metrics]\nnoisy = noisy_metric:Noisy\n", encoding="utf-8")
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"source": "A cat sat.", "output": "A cat."}\n' * 500, encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "plainly",
            "score",
            str(corpus),
            "-m",
            "noisy",
            "--engine",
            "ray",
            "--processes",
            "1",
            "--json",
            "--no-advice",
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["items"] == 500
    assert "noise of Ray" in done.stderr


def test_an_address_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that accepts and stays silent, one that is not Ray, and none at all; and a cluster that is there."""
    from plainly.core.errors import BadInput
    from plainly.streaming.engines.ray import check_address

    monkeypatch.setenv("PLAINLY_LIMITS", "wait=1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
            start = time.monotonic()
            with pytest.raises(BadInput, match="did not answer within 1 seconds"):
                check_address(address)
            assert time.monotonic() - start < 10
    with pytest.raises(BadInput, match="refused"):
        check_address(f"127.0.0.1:{port}")
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=server.handle_request, daemon=True).start()
    with pytest.raises(BadInput, match="not a Ray cluster"):
        check_address(f"127.0.0.1:{server.server_port}")
    server.server_close()


def test_a_cluster_answers(runtime: None) -> None:
    import ray

    from plainly.streaming.engines.ray import check_address

    check_address(ray.get_runtime_context().gcs_address)
