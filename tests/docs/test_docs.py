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


@pytest.mark.parametrize("path", [ROOT / "README.md", *DOCS], ids=lambda path: path.name)
def test_commands_on_the_demo_print_what_the_page_shows(
    path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block that begins with ``$ plainly … --demo`` is followed by exactly what the command prints (to stdout)."""
    monkeypatch.chdir(tmp_path)  # some commands write files
    for block in fences(path):
        shown = DEMO_COMMAND.match(block.body)
        if shown is None:
            continue
        expected = block.body[shown.end() :].strip("\n")
        assert main(shlex.split(shown[1])[1:]) == 0
        printed = capsys.readouterr().out.strip("\n")
        if expected:
            assert printed == expected, f"{path.name} shows other output for: {shown[1]}"


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
