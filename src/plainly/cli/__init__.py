"""The command line: one module a command, imported only when its command is called."""

import argparse
import importlib
import os
import sys
import tomllib
import traceback
from collections.abc import Sequence
from pathlib import Path

from plainly import __version__
from plainly.errors import PlainlyError, did_you_mean

COMMANDS: dict[str, str] = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))
REPORT = "the project's issue tracker, with the command and, where you may, the file"
_EPILOG = "plainly COMMAND --help tells what a command takes. Start with: plainly score --demo"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    0 done; 2 something that the user can put right; 70 a fault of ours; 130 interrupted. This is the one net: whatever
    a command lets fall, a person reads a sentence, and the trace only with --debug.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    try:
        return _run([argument for argument in arguments if argument != "--debug"])
    except BrokenPipeError:
        # The reader went away (plainly … | head); keep the interpreter from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("plainly: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if debug:
            traceback.print_exc()
        message, status = _said(error)
        print(f"plainly: {message}", file=sys.stderr)
        return status


def _said(error: Exception) -> tuple[str, int]:
    """What went wrong in a sentence, and the exit status."""
    if isinstance(error, PlainlyError):
        return error.for_shell(), 2
    if isinstance(error, MemoryError):
        return "There is not enough memory for this. Give less at once, or --engine local, which reads in parts.", 2
    if isinstance(error, OSError) and error.errno is not None:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}.", 2
    what = f"{type(error).__name__}: {error}".strip().splitlines()[0][:300]
    return f"A fault of plainly's, not yours ({what}). Run again with --debug and report what it prints: {REPORT}", 70


def _run(arguments: list[str]) -> int:
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help", "help"):
        _overview().print_help()
        return 0
    if name in ("-V", "--version"):
        print(f"plainly {__version__}")
        return 0
    if name not in COMMANDS:
        kind = "option" if name.startswith("-") else "command"
        raise PlainlyError(f"Unknown {kind} {name!r}.{did_you_mean(name, COMMANDS)} See: plainly --help")
    command = importlib.import_module(f"plainly.cli.{name}")
    parser = argparse.ArgumentParser(
        prog=f"plainly {name}",
        description=command.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.configure(parser)
    # Outputs may stand before, between and after options; argparse allows that only where there are no sub-commands.
    parse = parser.parse_args if parser._subparsers else parser.parse_intermixed_args
    status: int = command.run(parse(arguments[1:]))
    sys.stdout.flush()
    return status


def _overview() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="plainly", description="Evaluate text simplification.", epilog=_EPILOG, allow_abbrev=False
    )
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for name, help_text in COMMANDS.items():
        commands.add_parser(name, help=help_text)
    return parser
