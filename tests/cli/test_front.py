"""The first five minutes: tables fit the terminal, misspelt options get a suggestion, shells complete."""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plainly.cli import commands, main
from plainly.cli.completion import script
from plainly.cli.options import command_parser
from plainly.cli.show import print_table
from plainly.core.result import Table
from plainly.core.tables import display_width, fit_columns

WIDE = Table(
    ("system", "sari", "add", "keep", "bleu", "fkgl"),
    tuple(
        (f"system {number}", "40.00 [39.00, 41.00]", "1.00", "2.00", "70.00 [1.00, 99.00]", "8.00")
        for number in range(3)
    ),
    minor=frozenset({2, 3}),
)


@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
def test_tables_fit_the_terminal(width: int) -> None:
    parts = fit_columns(WIDE, width)
    for part in parts:
        widths = [
            max(display_width(row[column]) for row in (part.header, *part.rows)) for column in range(len(part.header))
        ]
        assert sum(widths) + 3 * (len(widths) - 1) <= max(width, 35), "a part has two columns at least"
        assert part.header[0] == "system"
        assert len(part.rows) == 3
    columns = {name for part in parts for name in part.header}
    assert {"system", "sari", "bleu", "fkgl"} <= columns, "only parts may be left out"
    left_out = set(WIDE.header) - columns
    assert left_out in (set(), {"add", "keep"})
    assert bool(left_out) == ("add, keep" in " ".join(parts[-1].notes)), "what is left out is said"
    assert (parts == [WIDE]) == (width >= 74)


def test_a_table_that_just_fits_is_printed_without_folding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "74")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_table(WIDE)
    lines = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) == 74
    assert [line.split()[:3] for line in lines[2:]] == [["system", str(k), "40.00"] for k in range(3)]


def test_misspelt_options_get_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands():
        flags = [flag for flag in command_parser(command)._option_string_actions if len(flag) > 6]
        if not flags:
            continue
        wrong = flags[0][:-2] + flags[0][-1]
        assert main([command, wrong, "x"]) == 2
        error = capsys.readouterr().err
        assert "Traceback" not in error
        assert error.count("\n") <= 2, "a sentence, not a screen"
    assert main(["score", "--demo", "--metrcs", "sari"]) == 2
    assert "Did you mean '--metrics'?" in capsys.readouterr().err
    assert main(["compare", "--demo", "--test", "bootstrp"]) == 2
    assert "Did you mean 'bootstrap'?" in capsys.readouterr().err


def test_help_imports_no_analysis() -> None:
    script = (
        "import sys\n"
        "from plainly.cli import main\n"
        "for name in (None, 'score', 'compare', 'audit', 'gate', 'facts', 'data', 'operations', 'studio'):\n"
        "    try: main([name, '--help'] if name else ['--help'])\n"
        "    except SystemExit: pass\n"
        "    if name is None: assert 'numpy' not in sys.modules\n"
        "print({name.split('.')[1] for name in sys.modules if name.startswith('plainly.')}, file=sys.stderr)\n"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ast.literal_eval(process.stderr) == {"cli", "core"}


def test_choices_written_out_for_help_are_those_of_the_packages() -> None:
    from plainly import data
    from plainly.auditing import result
    from plainly.checks import rules
    from plainly.scoring import comparisons, evaluate, references, subsets

    def option(command: str, flag: str) -> argparse.Action:
        return command_parser(command)._option_string_actions[flag]

    for command in ("score", "compare"):
        assert list(option(command, "--like").choices or ()) == list(evaluate.PRESETS)
        assert option(command, "--over").choices == references.OVER
        assert all(name in str(option(command, "--by").help) for name in subsets.FIELDS)
    assert {*comparisons.TESTS} <= {*(option("compare", "--test").choices or ())}
    assert option("gate", "--preset").choices == rules.PRESETS
    assert all(name in str(option("audit", "--tables").help) for name in result.TABLES)
    assert option("audit", "--tables").default == result.DEFAULT_TABLES
    kinds = command_parser("data")._subparsers
    assert kinds is not None
    (actions,) = kinds._group_actions
    assert isinstance(actions.choices, dict)
    assert actions.choices["list"]._option_string_actions["--kind"].choices == data.KINDS


def test_plainly_alone_says_what_one_can_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert all(f"plainly {name}" in printed and question in printed for name, question in commands().items())
    assert max(map(len, printed.splitlines())) <= 110


def test_bash_completes(tmp_path: Path) -> None:
    (tmp_path / "plainly.bash").write_text(script("bash"), encoding="utf-8")

    def complete(*words: str) -> list[str]:
        line = " ".join(f"'{word}'" for word in words)
        command = (
            f"source plainly.bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _plainly; echo ${{COMPREPLY[@]}}"
        )
        process = subprocess.run(["bash", "-c", command], cwd=tmp_path, text=True, capture_output=True, check=True)
        return process.stdout.split()

    assert complete("plainly", "comp") == ["compare", "completion"]
    assert complete("plainly", "score", "--no-int") == ["--no-intervals"]
    assert "sari" in complete("plainly", "score", "-m", "sa")
    assert complete("plainly", "score", "-t", "asset/t") == ["asset/test"]
    assert complete("plainly", "studio", "ser") == ["serve"]
    assert complete("plainly", "score", "plainly.b") == ["plainly.bash"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(script(shell), encoding="utf-8")
    process = subprocess.run([shell, "-n", str(path)], text=True, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr
    if shell == "fish":
        command = f"source {path}; complete -C 'plainly score --no-int'"
        process = subprocess.run(["fish", "-c", command], text=True, capture_output=True, check=True)
        assert "--no-intervals" in process.stdout


def test_strict_holds_wherever_it_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    from plainly.core.result import Listing, Note
    from plainly_lab import grids

    listing = Listing({}, (), prose="done", problems=(Note("Something is odd.", "warning", code="odd"),))
    monkeypatch.setattr(grids, "grid", lambda *config, **settings: listing)
    assert main(["grid", "grid.toml"]) == 0
    assert main(["grid", "grid.toml", "--strict"]) == 1


def test_threads_of_blas_are_limited_before_a_command_imports_numpy() -> None:
    """NumPy reads the variable once: a command that imports it would otherwise use every core for small products."""
    code = (
        "import os, sys; from plainly import cli\n"
        "def load(name):\n"
        "    print(os.environ.get('OPENBLAS_NUM_THREADS'), 'numpy' in sys.modules); raise SystemExit\n"
        "cli.load_command = load; cli.main(['report'])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    process = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert process.stdout.split() == ["1", "False"]
