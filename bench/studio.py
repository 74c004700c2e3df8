"""How the studio performs: raters without pauses, raters who think, and raters beside idle connections.

    python bench/studio.py [--old TREE] [--postgresql URL] [--raters 200] [--seconds 15] [--rounds 3] [--part full]

``--old`` is a directory with another version's ``src``; both versions and both databases take turns in every round, so
that a busy machine slows all of them. ``--postgresql`` is the URL of a server without a database's name; each study
gets its own database there, which is dropped at the end.

A server is started as a user starts it. Raters are coroutines of this process, with a minimal HTTP client, because on
two processors a comfortable one would be measured with the server. Times are of whole requests, from the client's
side. Processor time is the server's, and for PostgreSQL also that of the database's processes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import httpx
import numpy as np

HERE = Path(__file__).resolve().parents[1]
VALUES = {"simplicity": 1, "fluency": 4, "adequacy": 5}
ITEMS = 4000


@dataclass(frozen=True)
class Variant:
    """A version of the studio with a kind of database; ``postgresql`` is the URL of the server, or empty."""

    name: str
    tree: Path
    postgresql: str = ""


@dataclass
class Figures:
    """What one run gave."""

    saved: int = 0
    seconds: float = 0.0
    processor: float = 0.0  # of the server and the database
    database: float = 0.0  # of this, the database
    milliseconds: list[float] = field(default_factory=list)

    @property
    def pace(self) -> float:
        return self.saved / self.seconds

    @property
    def cost(self) -> float:
        return 1000 * self.processor / max(1, self.saved)

    def __str__(self) -> str:
        p50, p95, p99 = np.percentile(self.milliseconds or [np.nan], [50, 95, 99])
        return (
            f"{self.pace:6.0f} answers/s  {self.cost:5.2f} ms of processor time each "
            f"({self.cost * self.database / (self.processor or 1):.2f} of the database)  "
            f"p50 {p50:5.0f}  p95 {p95:5.0f}  p99 {p99:5.0f}  max {max(self.milliseconds, default=0):5.0f} ms"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, help="directory of another version, with src")
    parser.add_argument("--postgresql", metavar="URL", default="", help="a server, for example postgresql://me@host")
    parser.add_argument("--raters", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle", type=int, default=2000)
    parser.add_argument("--part", choices=("full", "thinking", "idle", "all"), default="all")
    args = parser.parse_args()
    trees = {"new": HERE, **({"old": args.old.resolve()} if args.old else {})}
    servers = {"SQLite": "", **({"PostgreSQL": args.postgresql} if args.postgresql else {})}
    variants = [Variant(f"{tree} {kind}", trees[tree], url) for kind, url in servers.items() for tree in sorted(trees)]
    if args.part in ("full", "all"):
        compare("without pauses", variants, args, pause=0.0, warm_up=2.0)
    if args.part in ("thinking", "all"):
        compare("thinking 5 s, after the first burst", variants, args, pause=5.0, warm_up=10.0)
    if args.part in ("idle", "all"):
        what = f"thinking 5 s beside {args.idle} idle connections"
        compare(what, [one for one in variants if one.tree == HERE], args, pause=5.0, warm_up=10.0, idle=args.idle)


def compare(
    what: str, variants: list[Variant], args: argparse.Namespace, *, pause: float, warm_up: float, idle: int = 0
) -> None:
    """Run all variants in turn, print each run, and then the medians as ratios to the first variant."""
    runs: dict[str, list[Figures]] = {variant.name: [] for variant in variants}
    for number in range(1, args.rounds + 1):
        for variant in variants:
            with served(variant) as study, idle_connections(study.port, idle):
                figures = asyncio.run(study.measure(args.raters, args.seconds, pause=pause, warm_up=warm_up))
            runs[variant.name].append(figures)
            load = os.getloadavg()[0]
            print(f"{what}, round {number}, load {load:.1f}, {variant.name:15} {figures}", flush=True)
    first = runs[variants[0].name]
    for name, own in runs.items():
        pace = np.median([one.pace / other.pace for one, other in zip(own, first, strict=True)])
        cost = np.median([one.cost / other.cost for one, other in zip(own, first, strict=True)])
        p99 = np.median([np.percentile(one.milliseconds or [np.nan], 99) for one in own])
        ratios = f"{pace:.2f} of its pace, {cost:.2f} of its processor time"
        print(f"{what}: {name} to {variants[0].name}: {ratios}; median p99 {p99:.0f} ms", flush=True)


@dataclass(frozen=True)
class Study:
    """A running server with its project."""

    port: int
    links: list[str]
    processes: list[int]  # whose processor time counts: the server, and the parent of PostgreSQL's processes

    async def measure(self, raters: int, seconds: float, *, pause: float, warm_up: float) -> Figures:
        """Let raters work; what happens in the first ``warm_up`` seconds does not count."""
        figures = Figures()
        people = [Client(self.port, random.Random(at)) for at in range(raters)]
        for person, link in zip(people, self.links, strict=False):
            await person.join(link)
        begin = time.monotonic() + warm_up
        work = [asyncio.create_task(person.rate(figures, begin, begin + seconds, pause)) for person in people]
        await asyncio.sleep(warm_up)
        before = [processor_seconds(pid) for pid in self.processes]
        await asyncio.sleep(seconds)
        used = [processor_seconds(pid) - start for pid, start in zip(self.processes, before, strict=True)]
        figures.processor, figures.database, figures.seconds = sum(used), sum(used[1:]), seconds
        await asyncio.gather(*work)
        return figures


class Client:
    """A rater with one connection."""

    def __init__(self, port: int, rng: random.Random) -> None:
        self.port, self.rng = port, rng
        self.cookies: dict[str, str] = {}
        self.token = ""
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json"
    ) -> tuple[int, bytes]:
        for _ in range(2):  # The server closes connections that are idle for ten seconds.
            if self.streams is None:
                self.streams = await asyncio.open_connection("127.0.0.1", self.port)
            reader, writer = self.streams
            cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            writer.write(
                f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\norigin: http://127.0.0.1:{self.port}\r\n"
                f"cookie: {cookies}\r\nx-studio-token: {self.token}\r\ncontent-type: {kind}\r\n"
                f"content-length: {len(body)}\r\n\r\n".encode()
                + body
            )
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            except (asyncio.IncompleteReadError, ConnectionError):
                self.streams = None
                continue
            for name, value in re.findall(r"(?im)^set-cookie: ([^=]+)=([^;\r]*)", head):
                self.cookies[name] = value
            length = re.search(r"(?im)^content-length: (\d+)", head)
            content = await reader.readexactly(int(length.group(1)) if length else 0)
            return int(head.split(" ", 2)[1]), content
        raise ConnectionError("the server closed two connections")

    async def join(self, link: str) -> None:
        status, page = await self.patiently("GET", f"/join/{link}")
        token = re.search(r'name="page_token" value="([^"]*)"', page.decode())
        assert token is not None, page
        form = urlencode({"page_token": token.group(1)}).encode()
        status, page = await self.patiently("POST", f"/join/{link}", form, "application/x-www-form-urlencoded")
        assert status == 303, page
        self.token = json.loads((await self.patiently("GET", "/api/me"))[1])["token"]

    async def patiently(self, *request: object) -> tuple[int, bytes]:
        """Send a request again while the server asks visitors of one address to slow down."""
        while (answer := await self.send(*request))[0] == 429:  # type: ignore[arg-type]
            await asyncio.sleep(0.1)
        return answer

    async def rate(self, figures: Figures, begin: float, end: float, pause: float) -> None:
        async def timed(path: str, data: object) -> tuple[int, bytes]:
            start = time.monotonic()
            answer = await self.send("POST", path, json.dumps(data).encode())
            if begin <= start < end:
                figures.milliseconds.append((time.monotonic() - start) * 1000)
            return answer

        await asyncio.sleep(self.rng.random() * pause)
        while time.monotonic() < end:
            items = json.loads((await timed("/api/claim", {"want": 3, "have": []}))[1])["items"]
            for item in items:
                if time.monotonic() >= end:
                    break
                answer = {"assignment": item["assignment"], "revision": item["revision"], "key": uuid.uuid4().hex}
                start = time.monotonic()
                status, _ = await timed("/api/answer", {**answer, "payload": {"values": VALUES}})
                figures.saved += status == 201 and begin <= start and time.monotonic() < end
                await asyncio.sleep(pause * (0.5 + self.rng.random()))


@contextlib.contextmanager
def served(variant: Variant) -> Iterator[Study]:
    """Create a study with a variant, and serve it."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        for part in ("source", "a"):
            lines = [f"Sentence number {at} of {part}.\n" for at in range(ITEMS)]
            (directory / f"{part}.txt").write_text("".join(lines))
        file = directory / "study.toml"
        file.write_text(
            '[project]\nname = "Load"\n[data]\nsource = "source.txt"\noutputs = ["A=a.txt"]\n'
            "[assignment]\noverlap = 50\nahead = 3\nearly = 0\n"
        )
        processes, url = [], f"sqlite:///{directory / 'study.db'}"
        if variant.postgresql:
            url = stack.enter_context(postgresql_database(variant.postgresql))
            processes.append(postmaster(variant.postgresql))
        environment = {**os.environ, "PYTHONPATH": str(variant.tree / "src"), "PLAINLY_STUDIO_DATABASE": url}
        studio = [sys.executable, "-m", "plainly", "studio"]
        subprocess.run([*studio, "create", str(file)], env=environment, check=True, capture_output=True)
        invite = [*studio, "invite", str(file), "-n", "400", "--json"]
        links = json.loads(subprocess.run(invite, env=environment, check=True, capture_output=True).stdout)["links"]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        serve = [*studio, "serve", str(file), "--port", str(port)]
        process = subprocess.Popen(serve, env=environment, stderr=subprocess.DEVNULL)
        try:
            while True:
                with contextlib.suppress(httpx.HTTPError):
                    httpx.get(f"http://127.0.0.1:{port}/health").raise_for_status()
                    break
                time.sleep(0.05)
            yield Study(port, [link.rsplit("/", 1)[-1] for link in links], [process.pid, *processes])
        finally:
            process.terminate()
            process.wait(20)


@contextlib.contextmanager
def postgresql_database(server: str) -> Iterator[str]:
    import psycopg

    name = f"bench_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield f"{server}/{name}"
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def postmaster(server: str) -> int:
    """Return the process of which all of PostgreSQL's are children; 0 for one on another machine."""
    import psycopg

    with psycopg.connect(f"{server}/postgres") as connection:
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        status = Path(f"/proc/{row[0] if row else 0}/stat")
        return int(status.read_text().rsplit(")", 1)[-1].split()[1]) if status.exists() else 0


def processor_seconds(pid: int) -> float:
    """Return what a process and its children have used so far; on a busy machine this says more than times do."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = status.read_text().rsplit(")", 1)[-1].split()
            if pid in (int(status.parent.name), int(fields[1])):
                total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def idle_connections(port: int, count: int) -> Iterator[None]:
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536) if hard > 0 else 65_536, hard))
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    try:
        yield
    finally:
        for one in connections:
            one.close()


if __name__ == "__main__":
    main()
