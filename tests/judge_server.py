"""A server on this machine that speaks the protocol of judges and misbehaves on command.

Its points follow from the texts, so that any run against it gives the same scores. As a program it prints its port and
runs until it is killed: ``python judge_server.py --faults 0.2``.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FRAME = re.compile(r"\[\[begin ([\w ]+) ([0-9a-f]{16})\]\]\n(.*?)\n\[\[end \1 \2\]\]", re.DOTALL)
QUESTION = re.compile(r'^- "([\w-]+)": (a number|"yes")', re.MULTILINE)
FAULTS = ("429", "429-after", "500", "503", "malformed", "empty", "truncated", "drop", "slow")
Points = Callable[[dict[str, str], str], float]


def texts_of(body: dict[str, Any]) -> dict[str, str]:
    """Return the framed texts of a request by name."""
    return {name: text for name, _, text in FRAME.findall(body["messages"][-1]["content"])}


def hashed_points(texts: dict[str, str], criterion: str) -> float:
    """Points from 0 to 100 that follow from the texts and the criterion and nothing else."""
    content = "\x1f".join((criterion, texts.get("original", ""), texts.get("simplified", "")))
    return int(hashlib.sha256(content.encode()).hexdigest()[:8], 16) % 101


@dataclass
class JudgeServer:
    """What the server does; every attribute may be changed while it runs. ``fault`` is asked before each answer."""

    points: Points = hashed_points
    fault: Callable[[int], str] = lambda number: ""
    answer: Callable[[dict[str, Any]], str] | None = None  # the content of an answer, instead of points
    fingerprint: Callable[[int], str] = lambda number: "fp_1"
    finish_reason: str = "stop"
    escape: tuple[bytes, bytes] = (b"", b"")  # what is replaced in the answers, and by what
    delay: float = 0.0
    retry_after: str = "0"
    slowness: float = 5.0
    keep: bool = True
    port: int = 0
    count: int = 0
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    answered: Counter[bytes] = field(default_factory=Counter)

    async def serve(self, ready: Callable[[], None]) -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        ready()
        async with server:
            await server.serve_forever()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = int(re.search(r"content-length: (\d+)", head, re.IGNORECASE)[1])  # type: ignore[index]
        key = re.search(r"authorization: Bearer (\S+)", head, re.IGNORECASE)
        self.keys.add(key[1] if key else "")
        data = await reader.readexactly(length)
        body = json.loads(data)
        number, self.count = self.count, self.count + 1
        if self.keep:
            self.requests.append(body)
        fault = self.fault(number)
        if self.delay:
            await asyncio.sleep(self.delay)
        if fault == "drop":
            return False
        if fault == "slow":
            await asyncio.sleep(self.slowness)
        status, headers, content = self._respond(body, number, fault, key[1] if key else "")
        head = (
            f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n{headers}\r\n"
        )
        if fault == "truncated":
            writer.write(head.encode() + content[: len(content) // 2])
            await writer.drain()
            return False
        if status == 200 and not fault:
            self.answered[hashlib.sha256(data).digest()] += 1
        writer.write(head.encode() + content)
        await writer.drain()
        return True

    def _respond(self, body: dict[str, Any], number: int, fault: str, key: str) -> tuple[int, str, bytes]:
        if fault.startswith("429"):
            return (
                429,
                f"Retry-After: {self.retry_after}\r\n" if fault.endswith("after") else "",
                b'{"error": "slow down"}',
            )
        if fault.isdigit():
            return int(fault), "", json.dumps({"error": f"fault {fault}; the key was {key}"}).encode()
        if fault == "malformed":
            return 200, "", b'{"choices": [{"message": {"content"'
        if fault == "empty":
            return 200, "", b'{"error": {"message": "overloaded"}}'
        message: dict[str, Any] = {"role": "assistant", "content": self._content(body)}
        if fault == "refusal":
            message = {"role": "assistant", "content": None, "refusal": "I cannot judge this."}
        words = len(body["messages"][-1]["content"].split())
        response = {
            "model": body["model"],
            "system_fingerprint": self.fingerprint(number),
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}],
            "usage": {"prompt_tokens": words, "completion_tokens": 10},
        }
        content = json.dumps(response).encode()
        return 200, "", content.replace(*self.escape) if self.escape[0] else content

    def _content(self, body: dict[str, Any]) -> str:
        if self.answer is not None:
            return self.answer(body)
        texts = texts_of(body)
        answer: dict[str, object] = {}
        for name, kind in QUESTION.findall(body["messages"][-1]["content"]):
            points = self.points(texts, name)
            answer[name] = points if kind == "a number" else ("yes" if points >= 50 else "no")
        return json.dumps(answer)


@contextmanager
def run_server(**behaviour: Any) -> Iterator[JudgeServer]:
    """Run a server in a thread."""
    server, ready = JudgeServer(**behaviour), threading.Event()
    loop = asyncio.new_event_loop()
    task = loop.create_task(server.serve(ready.set))

    def work() -> None:
        asyncio.set_event_loop(loop)
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        pending = asyncio.all_tasks(loop)
        for each in pending:
            each.cancel()
        loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        loop.close()

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()


def write_judges(path: Path, port: int, *names: str, **settings: object) -> Path:
    """Write a ``judges.toml`` with judges at a server of these tests."""
    values = {"base_url": f"http://127.0.0.1:{port}/v1", "model": "toy", "first_wait": 0.001, **settings}
    lines = "\n".join(f"{name} = {_toml(value)}" for name, value in values.items())
    path.write_text("\n".join(f'[[judge]]\nname = "{name}"\n{lines}\n' for name in names or ("toy",)), encoding="utf-8")
    return path


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name} = {_toml(part)}' for name, part in value.items())}}}"
    return json.dumps(value)


def random_faults(share: float, seed: int = 0, kinds: tuple[str, ...] = FAULTS[:-1]) -> Callable[[int], str]:
    """Return faults for a share of all requests, drawn at random."""
    draw = random.Random(seed)
    return lambda number: draw.choice(kinds) if draw.random() < share else ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=float, default=0.0)
    parser.add_argument("--delay", type=float, default=0.0)
    args = parser.parse_args()
    server = JudgeServer(fault=random_faults(args.faults), delay=args.delay, keep=False)
    asyncio.run(server.serve(lambda: print(server.port, flush=True)))  # noqa: T201


if __name__ == "__main__":
    main()
