"""Documentation that cannot rot: every command and metric is documented, and examples run."""

from __future__ import annotations

import argparse
import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import pytest

import plainly
from conftest import ROOT
from fences import fences
from plainly.cli import commands, main
from plainly.cli.options import command_parser
from plainly.core import registry
from plainly.typology.vocabulary import operations

DOCS = sorted((ROOT / "docs").glob("**/*.md"))
ALL_TEXT = "\n".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *DOCS])
DEMO_COMMAND = re.compile(r"^\$ (plainly [^\n]*--demo[^\n]*)$", re.MULTILINE)


@pytest.mark.parametrize("command", commands())
def test_every_command_is_documented(command: str) -> None:
    assert re.search(rf"\bplainly {command}\b", ALL_TEXT), f"no page shows: plainly {command}"


@pytest.mark.parametrize("command", commands())
def test_every_option_of_a_command_has_help(command: str) -> None:
    parser = command_parser(command)
    assert (parser.description or "").strip()
    pending: list[argparse.ArgumentParser] = [parser]
    while pending:
        current = pending.pop()
        for action in current._actions:
            if isinstance(action, argparse._SubParsersAction):
                pending += action.choices.values()
            elif action.help is not argparse.SUPPRESS:
                assert action.help, f"plainly {command}: {action.option_strings or action.dest} has no help"


@pytest.mark.parametrize("name", registry.METRICS)
def test_every_metric_is_documented(name: str) -> None:
    pages = "\n".join(path.read_text(encoding="utf-8") for path in DOCS)
    assert re.search(rf"`{name}(\(|`)", pages), f"no page in docs/ explains the metric {name}"


def test_the_examples_in_docstrings_run() -> None:
    attempted = 0
    for info in pkgutil.walk_packages(plainly.__path__, "plainly."):
        if info.name.endswith("__main__"):
            continue
        path = Path(importlib.util.find_spec(info.name).origin)  # type: ignore[union-attr, arg-type]
        if ">>> " not in path.read_text(encoding="utf-8"):
            continue
        result = doctest.testmod(importlib.import_module(info.name))
        attempted += result.attempted
        assert result.failed == 0, info.name
    assert doctest.testmod(plainly).failed == 0
    assert attempted > 0


DEMO_OUTPUTS = [
    (path.name, match[1], output)
    for path in [ROOT / "README.md", *DOCS]
    for block in fences(path)
    if (match := DEMO_COMMAND.match(block.body)) and (output := block.body[match.end() :].strip("\n"))
]


@pytest.mark.parametrize(("page", "command", "expected"), DEMO_OUTPUTS)
def test_commands_on_the_demo_print_what_the_page_shows(
    page: str,
    command: str,
    expected: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A block that begins with ``$ plainly … --demo`` is followed by exactly what the command prints (to stdout)."""
    monkeypatch.chdir(tmp_path)  # some commands write files
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out.strip("\n") == expected, f"{page} shows other output for: {command}"


def test_pages_show_outputs_of_the_demo() -> None:
    assert {"README.md", "tour.md", "score.md", "compare.md"} <= {page for page, _, _ in DEMO_OUTPUTS}


def test_the_changelog_names_the_version() -> None:
    assert plainly.__version__.partition(".dev")[0] in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_packages_that_the_architecture_names_exist_and_are_all() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(plainly(?:_lab|_studio)?(?:\.[a-z_]+)*)`", text))
    named -= {"plainly.commands", *(f"plainly.{name}" for name in plainly.__all__)}  # entry points, public functions
    for name in sorted(named):
        assert importlib.util.find_spec(name) is not None, f"docs/architecture.md names {name}, which does not exist"
    packages = {f"plainly.{info.name}" for info in pkgutil.iter_modules(plainly.__path__) if info.name != "__main__"}
    assert packages | {"plainly_lab", "plainly_studio"} <= named


def test_the_glossary_explains_every_operation_code() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    for operation in operations():
        assert f"| `{operation.label}` | {operation.title} |" in text


def test_the_architecture_says_where_things_are() -> None:
    """The ten questions of a newcomer, each answered with modules that exist."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("## Where is it?")[2].partition("\n## ")[0]
    answers = re.findall(r"^\| [^|]+\? \| ([^|]+) \|$", section, re.MULTILINE)
    assert len(answers) >= 10
    for answer in answers:
        modules = re.findall(r"`(src/[^`]+)`", answer)
        assert modules, f"no module in: {answer}"
        for module in modules:
            assert (ROOT / module).exists(), f"docs/architecture.md names {module}, which does not exist"
