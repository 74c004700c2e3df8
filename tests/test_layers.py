"""The house holds because imports go downwards only: this test reads every import in it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

PACKAGE = ROOT / "src" / "plainly"
# One name each level, the lowest first: a room imports only from rooms before it.
ORDER = (
    # foundation
    "errors", "arguments", "limits", "machine", "files", "sampling", "progress", "evalset", "protocol", "registry",
    "text", "result",
    "render",  # results as text, plots and files
    "stats", "metrics",  # knowledge: arrays in, numbers out
    "inputs",  # the door
    "data", "ratings", "typology", "fidelity",  # knowledge that comes in through the door
    "engines", "scoring", "questions", "learn",  # measuring and asking
    "pages", "api", "integrations", "studio", "cli", "__main__",  # showing
)  # fmt: skip
# Who may look up, and why.
UPWARDS = {("result", "render"): "a result's repr is its table; imported when somebody looks"}
HEAVY = ("torch", "ray", "starlette", "altair", "pandas", "polars", "nltk", "scipy", "sklearn", "spacy", "onnxruntime")


def _room(module: str) -> str:
    room = module.partition(".")[0]
    assert room in ORDER, f"plainly.{module} has no level: add its room to ORDER in {Path(__file__).name}"
    return room


def _modules() -> dict[str, Path]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


MODULES = _modules()


def _imports(path: Path, *, top_level: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if not top_level else iter(tree.body)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_go_downwards(module: str) -> None:
    own = _room(module)
    for imported in _imports(MODULES[module]):
        if not imported.startswith("plainly."):
            continue
        target = imported.removeprefix("plainly.")
        while target and target not in MODULES:
            target = target.rpartition(".")[0]
        if target and (own, _room(target)) not in UPWARDS:
            assert ORDER.index(_room(target)) <= ORDER.index(own), f"plainly.{module} imports plainly.{target}"


def test_every_room_and_every_exception_is_in_use() -> None:
    assert {_room(module) for module in MODULES} == set(ORDER)
    for (room, above), why in UPWARDS.items():
        assert any(
            imported.startswith(f"plainly.{above}")
            for module, path in MODULES.items()
            if _room(module) == room
            for imported in _imports(path)
        ), f"nobody needs this any more: {why}"


def test_functions_stay_readable() -> None:
    long = [
        f"{path.relative_to(PACKAGE)}: {node.name}"
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (node.end_lineno or 0) - node.lineno >= 60
    ]
    assert not long, f"past 60 lines: {long}"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_heavy_packages_are_imported_only_where_used(module: str) -> None:
    top = {name.partition(".")[0] for name in _imports(MODULES[module], top_level=True)}
    if module.partition(".")[0] not in ("studio", "pages", "learn"):
        assert not top & set(HEAVY), f"plainly.{module} imports {top & set(HEAVY)} at its top"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_modules_say_why_and_stay_small(module: str) -> None:
    text = MODULES[module].read_text(encoding="utf-8")
    if text.strip():
        assert ast.get_docstring(ast.parse(text)), f"plainly.{module} does not say what it is for"
    assert text.count("\n") <= 400, f"plainly.{module} has {text.count(chr(10))} lines: two rooms?"


def test_importing_plainly_imports_nothing_else() -> None:
    script = "import sys; before = set(sys.modules); import plainly; print(sorted(set(sys.modules) - before))"
    out = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    loaded = ast.literal_eval(out)
    foreign = [name for name in loaded if name.partition(".")[0] not in {*sys.stdlib_module_names, "plainly"}]
    assert not foreign, foreign
    assert not [name for name in loaded if name.startswith("plainly.")]
