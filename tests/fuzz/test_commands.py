"""Whatever is typed and whatever lies on disk: an answer or a sentence, never a trace, and no input is changed.

A sample is tested by ``scripts/test --long``; ``scripts/test --fuzz`` tests ten times as many with a new seed, which it
prints, and with PLAINLY_FUZZ_SEED the same again.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import random
from pathlib import Path

import pytest

from plainly.cli import commands, load_command, main

from . import nasty

pytestmark = pytest.mark.long
SKIPPED = {"studio": ("serve",)}  # a server does not end
# --force overwrites on purpose; engines and their addresses have tests of their own.
UNTRIED = ("--help", "--debug", "--address", "--force", "--processes")
CASES = int(os.environ.get("PLAINLY_FUZZ", "1000"))
BLOCKS = 20


def _parsers(command: str) -> list[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    module = load_command(command)
    parser = argparse.ArgumentParser(prog=command)
    module.configure(parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            parsers = [(name, inner) for name, inner in action.choices.items() if name not in SKIPPED.get(command, ())]
            return [((command, name), inner) for name, inner in parsers]
    return [((command,), parser)]


PARSERS = [pair for command in commands() for pair in _parsers(command)]


def _arguments(rng: random.Random, files: list[str]) -> list[str]:
    words, parser = rng.choice(PARSERS)
    arguments = list(words)
    for action in parser._actions:
        if not action.option_strings:
            if action.nargs != 0:
                arguments += [_value(rng, action, files) for _ in range(rng.choice((0, 1, 1, 2)))]
        elif rng.random() < 0.12 and action.option_strings[-1] not in UNTRIED:
            arguments.append(action.option_strings[-1])
            if action.nargs != 0:
                arguments.append(_value(rng, action, files))
    for option, value in (("--processes", "1"), ("--trials", "3")):
        if option not in arguments and any(option in action.option_strings for action in parser._actions):
            arguments += [option, value]
    if rng.random() < 0.3 and any("--demo" in action.option_strings for action in parser._actions):
        arguments.append("--demo")
    return arguments


def _value(rng: random.Random, action: argparse.Action, files: list[str]) -> str:
    if action.choices and rng.random() < 0.8:
        return str(rng.choice([choice for choice in action.choices if choice != "ray"]))
    if action.dest == "metrics":
        return rng.choice(nasty.SPECS)
    return rng.choice(files) if rng.random() < 0.7 else rng.choice(nasty.VALUES)


def _digest(folder: Path) -> dict[str, str]:
    """What is in each file that holds something; an empty one may be written to."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]
    return {str(path): hashlib.md5(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("block", range(BLOCKS))
def test_an_answer_or_a_sentence(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = nasty.generator("commands", block)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PLAINLY_MIRROR", str(tmp_path))  # nothing is there, and nothing is fetched
    nasty.without_network(monkeypatch)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("PLAINLY_LIMITS", "wait=2,command=5,file=100000000")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"A cat sat.\n")))
    files = nasty.write(tmp_path, rng)
    before = _digest(tmp_path)
    failures = []
    for _ in range(CASES // BLOCKS):
        arguments = _arguments(rng, files)
        out, err = nasty.Stream(), nasty.Stream()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                with nasty.no_longer_than(300):
                    status: object = main([*arguments, "--debug"])
            except SystemExit as stopped:  # argparse's own refusal
                status = stopped.code
            except BaseException as error:
                status = f"{type(error).__name__}: {error}"
        if status not in (0, 1, 2):
            failures.append((arguments, status, err.getvalue()[-1500:]))
        elif status == 2 and not err.getvalue().strip():
            failures.append((arguments, "no sentence", ""))
        elif status == 0 and "--json" in arguments and out.getvalue().strip():
            try:
                json.loads(out.getvalue())
            except ValueError as error:
                failures.append((arguments, f"not JSON: {error}", out.getvalue()[:500]))
    assert not failures, nasty.summary(failures, CASES // BLOCKS)
    after = _digest(tmp_path)
    changed = [path for path, digest in before.items() if after.get(path) != digest]
    assert not changed, f"files of the user were changed: {changed}"
