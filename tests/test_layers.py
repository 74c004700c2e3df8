"""The house holds because imports go downwards only: this test reads every import in it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

PACKAGE = ROOT / "src" / "plainly"
# The lowest layer first. A module imports only from its own layer or those below; the longest prefix decides.
LAYERS = (
    (
        "errors", "evalset", "protocol", "result", "sampling", "progress", "registry", "render", "files", "machine",
        "text", "stats.estimate",
    ),
    ("metrics", "inputs", "data", "stats", "typology", "ratings", "models"),
    ("scoring", "engines", "learn", "questions"),
    ("pages", "studio"),
    ("api", "cli", "__main__"),
)  # fmt: skip
HEAVY = ("torch", "ray", "starlette", "altair", "pandas", "polars", "nltk", "scipy", "sklearn", "spacy", "onnxruntime")


def _layer(module: str) -> int:
    found = [
        (len(name), number)
        for number, names in enumerate(LAYERS)
        for name in names
        if module == name or module.startswith(f"{name}.")
    ]
    if not found:
        raise AssertionError(f"plainly.{module} has no layer: add it to LAYERS in {Path(__file__).name}")
    return max(found)[1]


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
    own = _layer(module)
    for imported in _imports(MODULES[module]):
        if not imported.startswith("plainly."):
            continue
        target = imported.removeprefix("plainly.")
        while target and target not in MODULES:
            target = target.rpartition(".")[0]
        if target:
            assert _layer(target) <= own, f"plainly.{module} (layer {own}) imports plainly.{target}, from above it"


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
