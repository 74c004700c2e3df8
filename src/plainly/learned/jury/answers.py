"""Answers of judges: strict parsing, the cache in which nothing that was paid for is lost, recording and replaying.

The cache is an SQLite file, a record a file of JSON lines. Both contain texts and are readable by their owner only.
Unlike cached scores of models that run here, answers are never deleted: they cannot be computed again.
"""

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from plainly.core.calls import CallRun
from plainly.core.errors import BadInput
from plainly.core.files import cache_directory, check_target, is_guarded, read_whole, record_written
from plainly.core.settings import convert_settings
from plainly.learned.jury.rubrics import Criterion
from plainly.learned.jury.settings import JudgeSettings

_KEYS_PER_QUERY = 500
_TIMEOUT = 30.0  # seconds to wait for another process


@dataclass(frozen=True)
class Request:
    """A request, where it goes, and which repetition it is. Its key is a digest of all that shapes the answer."""

    url: str
    body: dict[str, Any]
    rubric: str
    repetition: int

    @property
    def key(self) -> str:
        content = [self.url, self.body, self.rubric, self.repetition]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Answer:
    """What a server answered, as it did, and when (UTC)."""

    response: dict[str, Any]
    time: str

    @classmethod
    def refused(cls, why: str, time: str) -> "Answer":
        """Return what stands for an answer where the server did not accept the text."""
        return cls({"choices": [{"message": {"content": None, "refusal": why}}], "refused": True}, time)

    @property
    def is_refused(self) -> bool:
        """Whether the server did not accept the text. That costs nothing, so it is asked again in the next run."""
        return self.response.get("refused") is True

    @property
    def is_cut(self) -> bool:
        """Whether the answer ended because it was as long as max_tokens allows."""
        return bool(self.response["choices"][0].get("finish_reason") == "length")

    @property
    def content(self) -> str:
        """The text of the answer; empty where the judge refused or wrote nothing."""
        content = self.response["choices"][0].get("message", {}).get("content")
        return content if isinstance(content, str) else ""

    @property
    def refusal(self) -> str:
        """What the judge, or plainly in place of its server, says instead of an answer."""
        refusal = self.response["choices"][0].get("message", {}).get("refusal")
        return refusal if isinstance(refusal, str) else ""

    @property
    def fingerprint(self) -> str:
        """What the server says about its model and configuration: the model's name and the fingerprint, if any."""
        parts = (self.response.get("model"), self.response.get("system_fingerprint"))
        text = "/".join(part for part in parts if isinstance(part, str) and part)
        return "".join(character if character.isalnum() or character in "-_./" else "_" for character in text)[:120]

    def tokens(self) -> tuple[int, int] | None:
        """Return the tokens read and written that the server counted, None where it does not say."""
        usage = self.response.get("usage")
        if not isinstance(usage, dict):
            return None
        read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
        is_count = isinstance(read, int) and isinstance(written, int) and read >= 0 and written >= 0
        return (int(read), int(written)) if is_count else None  # type: ignore[arg-type]

    def values(self, criteria: Iterable[Criterion]) -> dict[str, float] | None:
        """Return the points for each criterion, None unless the answer is exactly what was asked for."""
        by_name = {criterion.name: criterion for criterion in criteria}
        parsed = self.parse()
        if parsed is None or parsed.keys() != by_name.keys():
            return None
        values = {name: criterion.value(parsed[name]) for name, criterion in by_name.items()}
        return None if None in values.values() else {name: value for name, value in values.items() if value is not None}

    def parse(self) -> dict[str, Any] | None:
        """Return the JSON object of the answer, None unless it is one object and nothing else."""
        text = self.content.strip()
        if text.startswith("```") and text.endswith("```") and "\n" in text:
            text = text[text.index("\n") : -3].strip()
        try:
            parsed = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return None
        return parsed if isinstance(parsed, dict) else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")


def cache_path() -> Path:
    """Return the path of the cache: ``$PLAINLY_CACHE/answers.sqlite``, or in the platform's cache directory."""
    return cache_directory() / "answers.sqlite"


class AnswerCache:
    """Answers by key in a file that several processes may share; each is written when it arrives."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    @contextlib.contextmanager
    def open(cls) -> Iterator["AnswerCache"]:
        """Open the file, which only its owner may read. An answer that cannot be kept is an error: it was paid for."""
        path = cache_path()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            os.chmod(path, 0o600)
            # The thread that sends requests writes, while the one that opened the file waits.
            connecting = sqlite3.connect(path, timeout=_TIMEOUT, isolation_level=None, check_same_thread=False)
            with contextlib.closing(connecting) as connection:
                # What is written survives the end of the process, however it ends.
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS answers "
                    "(key TEXT PRIMARY KEY, request TEXT NOT NULL, response TEXT NOT NULL, time TEXT NOT NULL)"
                )
                yield cls(connection)
        except (OSError, sqlite3.Error) as error:
            raise BadInput(
                f"The answers of judges cannot be kept in {path}: {error}. Delete the file if it is damaged, or name "
                "another folder: PLAINLY_CACHE=FOLDER"
            ) from None

    def get(self, keys: list[str]) -> dict[str, Answer]:
        """Return those answers that the cache has."""
        answers = {}
        for at in range(0, len(keys), _KEYS_PER_QUERY):
            block = keys[at : at + _KEYS_PER_QUERY]
            query = f"SELECT key, response, time FROM answers WHERE key IN ({','.join('?' * len(block))})"
            for key, response, time in self._connection.execute(query, block):
                answers[key] = Answer(json.loads(response), time)
        return answers

    def put(self, key: str, request: Request, answer: Answer) -> None:
        """Write one answer."""
        row = (key, json.dumps(request.body), json.dumps(answer.response), answer.time)
        self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", row)


@contextlib.contextmanager
def open_record(run: CallRun, judge: JudgeSettings) -> Iterator["Record | None"]:
    """Open the file to which a run is recorded: written anew by the first call of the run, then continued."""
    if run.record is None:
        yield None
        return
    is_first = run.is_first(f"record {run.record}")
    if is_first:
        check_target(run.record, force=not is_guarded.get())
    flags = os.O_CREAT | os.O_WRONLY | (os.O_TRUNC if is_first else os.O_APPEND)
    try:
        with os.fdopen(os.open(run.record, flags, 0o600), "w", encoding="utf-8") as file:
            os.chmod(run.record, 0o600)
            record = Record(file)
            if run.is_first(f"record of judge {judge.name}"):
                record.write({"judge": msgspec.to_builtins(judge)})
            yield record
    except OSError as error:
        raise BadInput(f"Cannot write {run.record}: {error.strerror or error}.") from None
    record_written(run.record)


@dataclass(frozen=True)
class Record:
    """A record that is open for writing."""

    file: Any

    def write(self, line: dict[str, Any]) -> None:
        """Write a line of JSON at once."""
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def add(self, key: str, request: Request, answer: Answer) -> None:
        """Write a request and its answer."""
        about = {"key": key, "url": request.url, "rubric": request.rubric, "repetition": request.repetition}
        self.write({**about, "request": request.body, "response": answer.response, "time": answer.time})


def read_record(path: Path) -> tuple[dict[str, JudgeSettings], dict[str, Answer]]:
    """Read the judges and the answers by key that a run recorded."""
    judges, answers = {}, {}
    try:
        lines = read_whole(path).decode("utf-8").splitlines()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        lines = [""]
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            if "judge" in entry:
                judge = convert_settings(entry["judge"], JudgeSettings, where=f"{path}, line {number}")
                judges[judge.name] = judge
            else:
                answers[entry["key"]] = Answer(entry["response"], entry["time"])
                answers[entry["key"]].response["choices"][0]
        except (ValueError, TypeError, KeyError, IndexError):
            raise BadInput(
                f"{path}, line {number}, is not a line of a record. Records are written by record=."
            ) from None
    return judges, answers
