"""The command line: one module for each command, imported only when its command is called.

A command is a module with ``HELP``, ``configure(parser)`` and ``run(args)``. Installed packages add commands through
the entry point group ``plainly.commands``; their modules also have ``SUMMARY``, their line in ``plainly --help``.
"""

from __future__ import annotations

import importlib
import io
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from contextvars import copy_context
from types import ModuleType
from typing import TYPE_CHECKING

from plainly import __version__
from plainly.core.errors import BrokenPlugin, PlainlyError, did_you_mean
from plainly.core.limits import handle_signals

if TYPE_CHECKING:
    from argparse import Namespace
    from importlib.metadata import EntryPoints

    from plainly.core.result import Result

# The commands of plainly itself, in the order in which people need them, and the question that each answers.
COMMANDS = {
    "score": "how good are these outputs? scores with intervals and signatures",
    "compare": "which system is really better? paired tests",
    "report": "make a page to read and share; figures and tables for a paper",
    "check": "is this text plain? verdict, hardest sentences, rules",
    "gate": "are these texts good enough? fail a build if not",
    "doctor": "what is wrong with my files, or with the outputs of a model?",
    "facts": "which facts were changed, negated, added or lost?",
    "operations": "what was done to the sentences: profile, compare, label",
    "align": "which sentences of a document belong together?",
    "metrics": "which metrics are there, and what do they mean?",
    "models": "which models do metrics use? list, describe and download them",
    "audit": "can a metric be fooled?",
    "results": "which system do people find better? the result of a human evaluation",
    "agreement": "how far do raters agree, and who deviates?",
    "meta": "does a metric agree with people?",
    "plan": "how many sentences and raters does a human evaluation need?",
    "data": "which public test sets, outputs and ratings are there?",
    "cite": "what to cite: BibTeX for plainly and for what a result used",
    "completion": "complete commands and options in your shell",
}
ENTRY_POINT_GROUP = "plainly.commands"
REPORT = "the project's issue tracker, with the command and, where you may, the file"
_TITLE = "plainly evaluates text simplification. What do you want to do?"
_EPILOG = "plainly COMMAND --help shows options and examples. Start with: plainly score --demo"


@contextmanager
def _printable_streams() -> Iterator[None]:
    """Make sure that everything can be printed: if a stream is closed, and in any encoding."""
    with ExitStack() as opened:
        for name in ("stdout", "stderr"):
            if (stream := getattr(sys, name)) is None:
                setattr(sys, name, opened.enter_context(open(os.devnull, "w", encoding="utf-8")))
                opened.callback(setattr, sys, name, None)
            elif isinstance(stream, io.TextIOWrapper) and stream.errors != "backslashreplace":
                stream.reconfigure(errors="replace")
        yield


@_printable_streams()
def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    0 done; 2 an error that the user can correct; 70 a fault of plainly; 130 interrupted; 143 stopped. An error is
    printed as one sentence, with its traceback only if --debug is passed.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    name = arguments[0] if arguments else "--help"
    try:
        if name in ("-h", "--help", "help"):
            print(overview())
            return 0
        if name in ("-V", "--version"):
            print(f"plainly {__version__}")
            return 0
        with handle_signals(_stop, signal.SIGTERM):
            # Matrix products are many and small here: on shared cores, threads wait longer than they work. NumPy reads
            # this when it is imported, which some commands do.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            command = load_command(name)
            from plainly.cli.options import command_parser
            from plainly.cli.show import show
            from plainly.core.files import is_guarded

            parser = command_parser(name, command)
            # Outputs may stand before, between and after options; argparse allows that only without sub-commands.
            parse = parser.parse_args if parser._subparsers else parser.parse_intermixed_args
            args = parse(arguments[1:])
            args.command_line = shlex.join(["plainly", *arguments])
            context = copy_context()  # so that what is set here ends with the command
            context.run(is_guarded.set, getattr(args, "force", None) is False)
            if getattr(args, "calls", None):
                outcome: Result | int = context.run(_run_with_calls, command.run, args)
            else:
                outcome = context.run(command.run, args)
                context.run(_say_usage)
            status = outcome if isinstance(outcome, int) else int(show(outcome, args.format) > 0 and args.strict)
            sys.stdout.flush()
            return status
    except BrokenPipeError:
        # The reader went away (plainly … | head); keep the interpreter from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("plainly: interrupted", file=sys.stderr)
        return 130
    except _Terminated:
        print("plainly: stopped (SIGTERM)", file=sys.stderr)
        return 143
    except Exception as error:
        if debug:
            traceback.print_exc()
        message, status = _error_message(error)
        print(f"plainly: {message}", file=sys.stderr)
        return status


def _run_with_calls(run: Callable[[Namespace], Result | int], args: Namespace) -> Result | int:
    """Run a command with the options of judges; a dry run prints what the calls would cost instead of a result."""
    from plainly.core.calls import call_options

    with call_options(**args.calls) as calls, ExitStack() as silent:
        if calls.dry_run:
            silent.enter_context(redirect_stdout(io.StringIO()))
            silent.enter_context(redirect_stderr(io.StringIO()))
        outcome: Result | int = run(args)
        _say_usage()
    if calls.dry_run:
        print(calls.describe_estimate())
        return 0
    return outcome


def _say_usage() -> None:
    from plainly.core.calls import current_run

    run, used = current_run(), current_run().used
    if used.calls:
        tokens = f"{used.tokens_in:,} tokens in, {used.tokens_out:,} out"
        print(f"plainly: {used.calls:,} calls, {tokens}, cost {run.describe_cost(used.cost)}", file=sys.stderr)


class _Terminated(BaseException):
    """Raised on SIGTERM, so that child processes end and temporary files are removed."""


def _stop(number: int, frame: object) -> None:
    raise _Terminated


def _error_message(error: Exception) -> tuple[str, int]:
    """Return a sentence about the error, and the exit status."""
    if isinstance(error, PlainlyError):
        from plainly.cli.show import for_shell

        return for_shell(str(error)), 2
    if isinstance(error, MemoryError):
        return "Not enough memory. Pass less at once, or use --engine local, which reads in parts.", 2
    broken_database = type(error).__name__ in ("OperationalError", "DatabaseError")  # not those of a faulty query
    if broken_database and type(error).__module__.partition(".")[0] in ("sqlalchemy", "sqlite3"):
        why = str(getattr(error, "orig", None) or error).splitlines()[0]
        return f"The study's database cannot be used ({why}). Check that it is the right file and complete.", 2
    if isinstance(error, OSError) and error.errno is not None:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}.", 2
    what = f"{type(error).__name__}: {error}".strip().splitlines()[0][:300]
    return f"This is a bug in plainly ({what}). Run again with --debug and report the output: {REPORT}", 70


def load_command(name: str) -> ModuleType:
    """Import the module of a command."""
    if name in COMMANDS:
        return importlib.import_module(f"plainly.cli.{name}")
    plugins = _plugins()
    if name not in plugins.names:
        kind = "option" if name.startswith("-") else "command"
        suggestion = did_you_mean(name, [*COMMANDS, *plugins.names])
        raise PlainlyError(f"Unknown {kind} {name!r}.{suggestion} See: plainly --help")
    origin = plugins[name].value
    try:
        module = plugins[name].load()
    except Exception as error:
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        message = f"The command {name!r} cannot be loaded from {origin} ({why}). Fix or uninstall the plug-in."
        raise BrokenPlugin(message) from None
    if not isinstance(module, ModuleType):
        raise BrokenPlugin(f"{origin}, which should be the command {name!r}, is not a module.")
    return module


def _plugins() -> EntryPoints:
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINT_GROUP)


def commands() -> dict[str, str]:
    """Return every installed command and the question that it answers; those of other packages come last."""
    summaries = dict(COMMANDS)
    for name in sorted(_plugins().names - summaries.keys()):
        try:
            summaries[name] = str(load_command(name).SUMMARY)
        except (BrokenPlugin, AttributeError) as error:
            summaries[name] = f"(cannot be loaded: {error})"
    return summaries


def overview() -> str:
    """Return the list of commands for ``plainly --help``."""
    summaries = commands()
    width = max(map(len, summaries))
    lines = [f"  plainly {name:<{width}}  {question}" for name, question in summaries.items()]
    return "\n".join([_TITLE, "", *lines, "", _EPILOG])
