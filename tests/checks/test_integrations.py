"""Integrations: each project of docs/integrations.md is made from the page, and a planted bad output is stopped."""

from __future__ import annotations

import csv
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from fences import fences
from plainly.core.errors import BadInput
from plainly.scoring.harnesses import SariMetric, SariScore

FILES = {fence.title: fence.body for fence in fences(ROOT / "docs" / "integrations.md") if fence.title}
SOURCE = "The municipal authority resolved to discontinue the nocturnal bus service."
GOOD, BAD = "The town will stop the night bus.", "Sure! Here is a simpler version: The town will stop the night bus."


def _project(folder: Path, *names: str, bad: bool) -> Path:
    """An empty project with files from the page and three pairs, one of them bad."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FILES[name], encoding="utf-8")
    outputs = [GOOD, BAD if bad else "The night bus will stop.", "Soon the night bus will stop."]
    rows = [
        {"id": f"p{place}", "source": f"{SOURCE[:-1]} {word}.", "output": output}
        for place, (word, output) in enumerate(zip(("soon", "now", "today"), outputs, strict=True))
    ]
    (folder / "leaflet.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with open(folder / "leaflet.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["id", "source", "output"])
        writer.writeheader()
        writer.writerows(rows)
    return folder


def _run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(filter(None, [str(Path(sys.executable).parent), os.environ["PATH"]]))
    env = {**os.environ, "PATH": paths, "PYTHONPATH": str(ROOT / "src"), **environment}
    return subprocess.run(command, cwd=folder, env=env, text=True, capture_output=True, timeout=600, check=False)


@pytest.mark.long
@pytest.mark.parametrize("bad", [False, True])
def test_pytest(tmp_path: Path, bad: bool) -> None:
    points = importlib.metadata.entry_points(group="pytest11")
    plugin = [] if "plainly" in points.names else ["-p", "plainly.checks.pytest_plugin"]
    assert 'plainly = "plainly.checks.pytest_plugin"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    _project(tmp_path, "test_leaflet.py", bad=bad)
    done = _run([sys.executable, "-m", "pytest", "-q", "--strict-markers", *plugin], tmp_path)
    assert done.returncode == int(bad), done.stdout + done.stderr
    assert done.stdout.startswith(".F.F" if bad else "....")
    assert ("preamble" in done.stdout) is bad


@pytest.mark.system
@pytest.mark.parametrize("bad", [False, True])
def test_pre_commit(tmp_path: Path, bad: bool) -> None:
    pytest.importorskip("pre_commit")
    _project(tmp_path, ".pre-commit-config.yaml", bad=bad)
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    run = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
    done = _run(run, tmp_path, PRE_COMMIT_HOME=str(tmp_path / "home"))
    assert done.returncode == int(bad), done.stdout + done.stderr
    assert ("preamble" in done.stdout) is bad
    manifest = _run(
        [sys.executable, "-m", "pre_commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")], ROOT
    )
    assert manifest.returncode == 0, manifest.stdout + manifest.stderr


@pytest.mark.parametrize("bad", [False, True])
def test_github_action(tmp_path: Path, bad: bool) -> None:
    """The steps of action.yml as GitHub runs them, in bash, with the inputs of the workflow on the page."""
    yaml = pytest.importorskip("yaml")
    _project(tmp_path, ".github/workflows/texts.yml", bad=bad)
    workflow = yaml.safe_load((tmp_path / ".github/workflows/texts.yml").read_text(encoding="utf-8"))
    inputs = workflow["jobs"]["gate"]["steps"][-1]["with"]
    done = _run_action(tmp_path, inputs)
    assert done.returncode == int(bad), done.stdout + done.stderr
    assert ("::error file=leaflet.jsonl,line=2" in done.stdout) is bad
    assert (tmp_path / "gate.sarif").is_file()


def test_github_action_checks_documents_whose_names_have_spaces(tmp_path: Path) -> None:
    (tmp_path / "my page.md").write_text("word " * 50 + "end.\n", encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("The dog ran home.\n", encoding="utf-8")
    done = _run_action(tmp_path, {"check": "my page.md\ndocs\n", "preset": "plain", "arguments": "--quick"})
    assert done.returncode == 1, done.stderr
    assert "::error file=my page.md,line=1,col=1" in done.stdout
    assert _run_action(tmp_path, {}).returncode == 2


def _run_action(folder: Path, inputs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the last step of action.yml; the first one installs the Action's own checkout."""
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert set(inputs) <= set(action["inputs"])
    values = {name: str(inputs.get(name, about.get("default", ""))) for name, about in action["inputs"].items()}
    install, step = action["runs"]["steps"]
    assert values["package"] == ""
    assert install["env"]["CHECKOUT"] == "${{ github.action_path }}"
    filled = {
        key: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: values[match[1]], text)
        for key, text in step["env"].items()
    }
    return _run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], folder, **filled)


def test_the_promptfoo_assertion() -> None:
    recipe: dict[str, Any] = {}
    exec(FILES["assert_plainly.py"], recipe)
    context = {"vars": {"source": SOURCE}, "config": {"preset": "plain"}}
    assert recipe["get_assert"](GOOD, context)["pass"] is True
    stopped = recipe["get_assert"](BAD, context)
    assert (stopped["pass"], stopped["score"]) == (False, 0.0)
    assert "preamble" in stopped["reason"]


@pytest.mark.system
@pytest.mark.parametrize("bad", [False, True])
def test_promptfoo_itself(tmp_path: Path, bad: bool) -> None:
    if shutil.which("promptfoo") is None:
        pytest.skip("promptfoo is not installed (npm install -g promptfoo, 1.4 GB)")
    _project(tmp_path, "assert_plainly.py", "promptfooconfig.yaml", bad=bad)
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": str(tmp_path)}
    done = _run(["promptfoo", "eval", "--no-cache", "--no-share"], tmp_path, PROMPTFOO_PYTHON=sys.executable, **quiet)
    assert (done.returncode != 0) is bad, done.stdout + done.stderr


def _environment(folder: Path, package: str) -> Path:
    """A virtual environment with a package of its own, which sees what is installed here after that."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    done = subprocess.run(
        [str(python), "-m", "pip", "install", "-q", package], text=True, capture_output=True, timeout=900, check=False
    )
    if done.returncode:
        pytest.skip(f"pip cannot install {package} here: {done.stderr.strip().splitlines()[-1][:200]}")
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "outer.pth").write_text(f"{ROOT / 'src'}\n{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return python


@pytest.mark.long
@pytest.mark.packages
def test_deepeval_itself(tmp_path: Path) -> None:
    python = _environment(tmp_path / "venv", "deepeval")
    for bad in (False, True):
        (tmp_path / str(bad)).mkdir()
        folder = _project(tmp_path / str(bad), "test_deepeval.py", "plainly_metric.py", bad=bad)
        quiet = {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "PYTHONPATH": "", "PYTHONWARNINGS": "default"}
        done = _run([str(python), "-m", "pytest", "-q", "-W", "default"], folder, **quiet)
        assert done.returncode == int(bad), done.stdout + done.stderr
        assert ("preamble" in done.stdout) is bad


@pytest.mark.long
@pytest.mark.packages
def test_giskard_itself(tmp_path: Path) -> None:
    python = _environment(tmp_path / "venv", "giskard>=2.16,<3")
    for bad in (False, True):
        (tmp_path / str(bad)).mkdir()
        folder = _project(tmp_path / str(bad), "check_giskard.py", bad=bad)
        done = _run([str(python), "check_giskard.py"], folder, GSK_DISABLE_ANALYTICS="true", PYTHONPATH="")
        assert done.returncode == int(bad), done.stdout + done.stderr


def test_sari_stands_in_for_that_of_other_harnesses(tmp_path: Path) -> None:
    (tmp_path / "score.py").write_text(FILES["score.py"], encoding="utf-8")
    done = _run([sys.executable, "score.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "sari(variant=easse" in done.stdout
    texts = {"sources": ["a b c d e"], "predictions": ["a b"], "references": [["a b"]]}
    added = SariMetric("hf")
    added.add(source="a b c d e", prediction="a b", references=["a b"])
    assert added.compute() == SariMetric("hf").compute(**texts)  # type: ignore[arg-type]
    batches = SariScore("hf")
    first = batches(["a b"], [["a b"]], ["a b c d e"])
    batches.update(["x"], [["y"]], ["z"])
    assert batches.compute() < first
    batches.reset()
    with pytest.raises(BadInput):
        batches.compute()
