"""Run a notebook's cells in this process: what each of them shows. As a program it writes that into the notebook."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def run_cells(path: Path) -> list[str]:
    """What every code cell prints, and the value of its last expression."""
    namespace: dict[str, Any] = {}
    return [_run("".join(cell["source"]), namespace) for cell in cells(path)]


def _run(source: str, namespace: dict[str, Any]) -> str:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), namespace)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace) if last is not None else None
    return printed.getvalue() + ("" if value is None else repr(value))


def stored(cell: dict[str, Any]) -> str:
    """What a cell showed when it was last written."""
    return "".join("".join(output["data"]["text/plain"]) for output in cell["outputs"])


def write(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, text) in enumerate(zip(code, run_cells(path), strict=True), start=1):
        cell["execution_count"] = number
        result = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
        cell["outputs"] = [{**result, "data": {"text/plain": text.splitlines(keepends=True)}}] if text else []
    path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
