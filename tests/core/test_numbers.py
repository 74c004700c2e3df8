"""Every option of every command that takes a number: values that make no sense are refused in a sentence."""

from __future__ import annotations

import argparse

import pytest

from plainly.cli import commands, load_command, main
from plainly.cli.options import number

_WHOLE = ("-1", "-99999999999999999999", "99999999999999999999", "1e400", "nan", "inf", "x", "", "0.5")


def _options() -> dict[tuple[str, ...], list[argparse.Action]]:
    """Of every command and sub-command, the options that take a number."""
    numbers: dict[tuple[str, ...], list[argparse.Action]] = {}
    for command in commands():
        parser = argparse.ArgumentParser(prog=command)
        load_command(command).configure(parser)
        inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        parsers = {(command, name): sub for action in inner for name, sub in action.choices.items()} or {
            (command,): parser
        }
        for words, inner_parser in parsers.items():
            numbers[words] = [action for action in inner_parser._actions if _is_number(action)]
    return {words: actions for words, actions in numbers.items() if actions}


def _is_number(action: argparse.Action) -> bool:
    return isinstance(action.type, number)


OPTIONS = _options()


def test_no_option_reads_numbers_in_another_way() -> None:
    for command in commands():
        parser = argparse.ArgumentParser(prog=command)
        load_command(command).configure(parser)
        inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        for each in [parser, *(sub for action in inner for sub in action.choices.values())]:
            plain = [action.dest for action in each._actions if action.type in (int, float)]
            assert not plain, f"{command}: {plain}; use options.number"
    assert len(OPTIONS) > 8


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_numbers_that_make_no_sense_are_refused(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    for action in OPTIONS[words]:
        flag = action.option_strings[-1]
        for value in ("nan", "inf", "1e400", "x", "") if _takes(action, "0.5") else _WHOLE:
            typed = [flag, value] if not value.startswith("-") else [f"{flag}{'=' * flag.startswith('--')}{value}"]
            assert main([*words, *typed]) == 2, (flag, value)
            error = capsys.readouterr().err
            assert error.startswith(f"plainly: {flag} is a "), error
            assert error.count("\n") == 1


def _takes(action: argparse.Action, text: str) -> bool:
    try:
        action.type(text)  # type: ignore[operator]
    except Exception:
        return False
    return True


@pytest.mark.parametrize(
    "arguments",
    [
        "studio create new.toml --demo --items 0",
        "studio create new.toml --demo --items -1",
        "studio create new.toml --demo --overlap 0",
        "audit --demo editor --trials 0",
        "compare --demo editor noisy --trials 0",
        "score --demo editor --resamples 0",
        "plan --budget 0",
        "grid x.toml --processes 0",
        "operations train --folds 0",
    ],
)
def test_nothing_is_no_count(arguments: str, tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    assert main(arguments.split()) == 2
    assert arguments.split()[-2] in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
