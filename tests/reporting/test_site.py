"""The documentation: the site builds without a warning, every metric is in its reference, and every example works."""

from __future__ import annotations

import argparse
import doctest
import importlib
import importlib.util
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT
from plainly import data
from plainly.cli import commands, load_command, main
from plainly.core import registry

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(sh|console|text|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Files that examples name without showing them; they are made of the demo.
_TEXTS = ("mine.txt", "theirs.txt", "A.txt", "B.txt", "ACCESS.txt", "Hybrid.txt", "out.txt")


@pytest.mark.system
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path / "site")]
    process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    page = (tmp_path / "site" / "metrics-reference.html").read_text(encoding="utf-8")
    assert 'id="sari"' in page
    for path in (tmp_path / "site").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'<(script|link|img)[^>]+(src|href)="https?://', text), (
            f"{path.name} loads from the network"
        )


@pytest.mark.system
def test_the_reference_has_every_metric_with_its_parameters_and_outputs() -> None:
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    page = hooks.metrics_reference()
    for name in registry.METRICS:
        cls = registry.metric_class(name)
        section = page.partition(f"## {name} {{#{name}}}")[2].partition("\n## ")[0]
        assert section, name
        assert "**Does not see.**" in section
        for output in cls.outputs:
            assert f"`{output}`" in section, (name, output)


def _at_hand() -> dict[str, object]:
    """What pages take for granted that a reader has: texts, and ratings of items by raters."""
    evalset, outputs = data.demo()
    ratings = np.random.default_rng(7).integers(1, 6, size=(30, 3)).astype(np.float64)
    texts = {"sources": evalset.sources[:9], "outputs": outputs["editor"][:9], "evalset": evalset, "systems": outputs}
    texts |= {"a": outputs["editor"][:9], "b": outputs["copy"][:9]}
    return {**texts, "ratings": ratings, "anna": ratings[:, 0], "ben": ratings[:, 1]}


LONG = {"reproduce.md": pytest.mark.long}  # computes a table of a paper


@pytest.mark.long
@pytest.mark.parametrize("path", [pytest.param(path, id=path.name, marks=LONG.get(path.name, ())) for path in PAGES])
def test_python_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mirror: Path) -> None:
    """All blocks of a page are one session: those with prompts are doctests, the others just have to run."""
    monkeypatch.chdir(tmp_path)
    places = itertools.product("AB", range(9), (1, 2))
    cells = [f"{system},{item},{rater},{1 + item * rater % 5}" for system, item, rater in places]
    (tmp_path / "ratings.csv").write_text("\n".join(["system,item,rater,simplicity", *cells]), encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    names: dict[str, object] = _at_hand()
    for number, body in enumerate(body for kind, body in BLOCK.findall(text) if kind == "python"):
        where = f"{path.name} {number + 1}"
        if ">>> " not in body:
            code = compile(body, where, "exec")
            # These take an encoder and hours, or a language model.
            if not any(name in body for name in ("plainly_lab.train(", "call_options(judges=")):
                exec(code, names)
            continue
        example = doctest.DocTestParser().get_doctest(body, names, where, str(path), 0)
        runner.run(example, clear_globs=False)
        names.update(example.globs)
    assert runner.summarize(verbose=False).failed == 0


def _commands(path: Path) -> list[str]:
    lines = []
    for kind, body in BLOCK.findall(path.read_text(encoding="utf-8")):
        if kind == "python":
            continue
        for line in re.sub(r"\\\n\s*", "", body).splitlines():
            command = line.removeprefix("$ ").partition("  #")[0].strip()
            parts = map(str.strip, command.split("&&"))
            lines += [part for part in parts if part.startswith("plainly ") and not re.search("[|…]", part)]
    return lines


# A line that goes on with a number is a row of a table in what a command printed.
SHOWN = [
    (path.name, command)
    for path in PAGES
    for command in _commands(path)
    if not re.match(r"plainly\s+[\d.]+\s", command)
]


@pytest.mark.parametrize(("page", "command"), SHOWN, ids=[f"{page}: {command[:60]}" for page, command in SHOWN])
def test_commands_that_pages_show_are_understood(page: str, command: str) -> None:
    words = shlex.split(command)[1:]
    words = words[: words.index(">")] if ">" in words else words
    if words[0].startswith("-"):
        return
    assert words[0] in commands(), f"{page} shows a command that does not exist"
    module = load_command(words[0])
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    module.configure(parser)
    parse = parser.parse_args if parser._subparsers else parser.parse_intermixed_args
    if not {"-h", "--help", "--list"} & set(words):
        parse(words[1:])


# Labels need annotations, and QuestEval its published weights.
RUN = [
    command
    for page, command in SHOWN
    if re.match(r"plainly (score|compare|doctor|report) .*src\.txt", command)
    and not re.search("operations|questeval", command)
]


@pytest.mark.long
@pytest.mark.parametrize("command", dict.fromkeys(RUN))
def test_commands_on_own_files_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    evalset, outputs = data.demo()
    (tmp_path / "runs" / "7").mkdir(parents=True)
    files = {"src.txt": evalset.sources[:20], "ref.txt": [row[0] for row in evalset.references[:20]]}
    files |= {f"ref.{k}.txt": [row[k] for row in evalset.references[:20]] for k in range(3)}
    files |= {name: list(outputs.values())[place][:20] for place, name in enumerate(_TEXTS)}
    files["runs/7/out.txt"] = outputs["editor"][:20]
    files["docs.txt"] = [str(item // 5) for item in range(20)]
    rows = zip(evalset.sources[:20], outputs["noisy"][:20], strict=True)
    files["mine.jsonl"] = [json.dumps({"source": source, "output": output}) for source, output in rows]
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert main(shlex.split(command)[1:]) in (0, 1)  # the doctor says 1 where it finds something
