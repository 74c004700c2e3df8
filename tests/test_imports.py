"""What modules import: the layers are a contract of import-linter (pyproject.toml); this is what it cannot see."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

SOURCE = ROOT / "src"
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
HEAVY = {"torch", "ray", "starlette", "sqlalchemy", "pyarrow", "pandas", "polars", "nltk", "scipy", "sklearn", "spacy"}
HEAVY |= {"onnxruntime", "tokenizers", "transformers", "vl_convert"}
# Modules of the studio and of training run only where their packages are installed and are imported for nothing else.
MAY_IMPORT_HEAVY = ("plainly_studio/", "plainly_lab/training/")
# The modules that import modules of plainly by name (a string), and why; docs/architecture.md repeats this list.
BY_NAME = {
    "plainly/__init__.py": "public functions, imported on first use",
    "plainly/core/registry.py": "metrics, built in and of plug-ins; the sentence encoder and the labeller",
    "plainly/cli/__init__.py": "commands",
    "plainly_lab/__init__.py": "public functions, imported on first use",
    "plainly_lab/reproductions/__init__.py": "recipes of papers",
    "plainly_studio/__init__.py": "public functions, imported on first use",
}
# Those that so import modules of others: what unpacks a file, and the tokenizers of sacrebleu. plainly.people imports
# the readers of ratings that other packages add.
OF_OTHERS = {"plainly/io/files.py", "plainly/text/tokenise.py"}
CALLS = ("importlib.import_module", "pkgutil.resolve_name", "__import__")


def _tree(module: str) -> ast.Module:
    return ast.parse((SOURCE / module).read_text(encoding="utf-8"))


def test_modules_are_imported_by_name_only_where_that_is_listed() -> None:
    by_name = {
        module
        for module in MODULES
        if not module.startswith("plainly/people/")
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in CALLS
    }
    assert by_name - OF_OTHERS == set(BY_NAME)
    assert by_name >= OF_OTHERS
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for module in BY_NAME:
        name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        assert f"`{name}`" in page, f"docs/architecture.md does not say that {name} imports by name"


@pytest.mark.parametrize("module", [module for module in MODULES if not module.startswith(MAY_IMPORT_HEAVY)])
def test_heavy_packages_are_imported_in_the_function_that_needs_them(module: str) -> None:
    top = set()
    for node in _tree(module).body:
        if isinstance(node, ast.Import):
            top |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            top.add(node.module.partition(".")[0])
    assert not top & HEAVY


@pytest.mark.parametrize("module", MODULES)
def test_a_module_states_what_it_is_for(module: str) -> None:
    assert ast.get_docstring(_tree(module))


def test_importing_plainly_imports_nothing_else() -> None:
    script = "import sys; before = set(sys.modules); import plainly; print(sorted(set(sys.modules) - before))"
    out = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    loaded = ast.literal_eval(out)
    assert [name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names] == ["plainly"]


def test_tests_mirror_the_source() -> None:
    """Every folder of tests is named after a package, but for those about no package in particular."""
    packages = {path.name for path in (SOURCE / "plainly").iterdir() if path.is_dir()} | {"lab", "studio"}
    others = {"docs", "fuzz", "guard"}
    folders = {path.name for path in Path(ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders - others <= packages
