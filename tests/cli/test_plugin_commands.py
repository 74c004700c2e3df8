"""Commands of other packages: an installed package adds one, and a broken one disables nothing but itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plainly.cli import commands, main

COMMAND = '''
"""``plainly shout``: count capital letters."""
from plainly.cli.options import add_formats
from plainly.core.errors import BadInput
from plainly.core.result import Listing

SUMMARY = "how loud are these texts?"
HELP = "Count capital letters."

def configure(parser):
    parser.add_argument("text")
    add_formats(parser)

def run(args):
    if not args.text:
        raise BadInput("There is no text. Pass language='de'.")
    count = sum(letter.isupper() for letter in args.text)
    return Listing({"schema": "shout/1", "capitals": count}, ({"capitals": count},), {"capitals": "capitals"})
'''
BROKEN = {
    "raises": "raise RuntimeError('out of date')",
    "missing": "import no_such_package_at_all",
    "silent": "HELP = 'A command without a summary.'",
}


def _install(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str) -> None:
    """A distribution on the path, as pip leaves it: a module and the entry point that names it."""
    module = f"plugin_command_{name}"
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[plainly.commands]\n{name} = {module}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))


def test_a_package_adds_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "shout" not in commands()
    _install(tmp_path, monkeypatch, "shout", COMMAND)
    assert commands()["shout"] == "how loud are these texts?"
    assert main(["--help"]) == 0
    assert "how loud are these texts?" in capsys.readouterr().out
    assert main(["shout", "HELLO world", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": "shout/1", "capitals": 5}
    assert main(["shout", ""]) == 2
    assert capsys.readouterr().err == "plainly: There is no text. Pass --language de.\n"
    assert main(["shuot", "a"]) == 2
    assert "Did you mean 'shout'?" in capsys.readouterr().err


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_command_disables_nothing_else(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _install(tmp_path, monkeypatch, name, BROKEN[name])
    assert main(["--help"]) == 0
    help_text = capsys.readouterr().out
    assert "plainly score" in help_text
    assert f"plainly {name}" in help_text
    assert "(cannot be loaded: " in help_text
    assert main(["metrics", "sari"]) == 0
    capsys.readouterr()
    if name != "silent":
        assert main([name]) == 2
        error = capsys.readouterr().err
        assert f"The command '{name}' cannot be loaded from plugin_command_{name}" in error
        assert error.count("\n") == 1
