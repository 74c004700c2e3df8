"""How the studio holds up: fifty raters at a natural pace, at full speed, and beside two thousand idle connections.

    python bench/studio.py [--database postgresql://…] [--raters 50] [--seconds 20]

A server is started as a user starts it; raters are coroutines of this process, so on a small machine they take
processor time from it. Figures are of whole requests, from the client's side.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import httpx
import numpy as np

import plainly_studio

VALUES = {"simplicity": 1, "fluency": 4, "adequacy": 5}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database")
    parser.add_argument("--raters", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--idle", type=int, default=2000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, served(Path(directory), args) as (url, file, pid):
        links = [
            link.rsplit("/", 1)[-1]
            for link in plainly_studio.invite(file, database=args.database, count=args.raters).links
        ]
        crowd = asyncio.run(join(url, links))
        measure("natural pace (2 s)", pid, url, crowd, args.seconds, pause=2.0)
        with idle(url, args.idle):
            measure(f"natural pace beside {args.idle} idle connections", pid, url, crowd, args.seconds, pause=2.0)
        measure("full speed", pid, url, crowd, args.seconds, pause=0.0)


@contextlib.contextmanager
def served(directory: Path, args: argparse.Namespace):
    lines = 4000
    for name in ("source", "a"):
        (directory / f"{name}.txt").write_text("".join(f"Sentence number {at} of {name}.\n" for at in range(lines)))
    file = directory / "study.toml"
    file.write_text(
        '[project]\nname = "Load"\n[data]\nsource = "source.txt"\noutputs = ["A=a.txt"]\n'
        "[assignment]\noverlap = 50\nahead = 3\nearly = 0\n"
    )
    plainly_studio.create(file, database=args.database)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "plainly", "studio", "serve", str(file), "--port", str(port)]
    process = subprocess.Popen([*command, *(["--database", args.database] if args.database else [])])
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            with contextlib.suppress(httpx.HTTPError):
                httpx.get(f"{url}/health").raise_for_status()
                break
            time.sleep(0.05)
        yield url, file, process.pid
    finally:
        process.terminate()
        process.wait(20)


@contextlib.contextmanager
def idle(url: str, count: int):
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536) if hard > 0 else 65_536, hard))
    port = int(url.rsplit(":", 1)[-1])
    opened = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    try:
        yield
    finally:
        for one in opened:
            one.close()


async def join(url: str, links: list[str]) -> list[tuple[dict[str, str], dict[str, str]]]:
    """Cookies and headers of each rater."""
    crowd = []
    for link in links:
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            page = (await client.get(f"/join/{link}")).text
            token = re.search(r'name="page_token" value="([^"]*)"', page).group(1)  # type: ignore[union-attr]
            await client.post(f"/join/{link}", data={"page_token": token}, headers={"origin": url})
            me = (await client.get("/api/me")).json()
            crowd.append((dict(client.cookies), {"origin": url, "x-studio-token": me["token"]}))
    return crowd


async def work(url: str, crowd: list, seconds: float, *, pause: float) -> tuple[list[float], int]:
    """Milliseconds of every request, and how many answers were saved."""
    times: list[float] = []
    saved = 0
    end = time.monotonic() + seconds

    async def rate(at: int, cookies: dict[str, str], headers: dict[str, str]) -> None:
        nonlocal saved
        rng = random.Random(at)
        async with httpx.AsyncClient(base_url=url, timeout=60, cookies=cookies, headers=headers) as client:
            await asyncio.sleep(rng.random() * pause)
            while time.monotonic() < end:
                began = time.perf_counter()
                items = (await client.post("/api/claim", json={"want": 3, "have": []})).json()["items"]
                times.append((time.perf_counter() - began) * 1000)
                for item in items:
                    if time.monotonic() >= end:
                        break
                    body = {"assignment": item["assignment"], "revision": item["revision"], "key": uuid.uuid4().hex}
                    began = time.perf_counter()
                    reply = await client.post("/api/answer", json={**body, "payload": {"values": VALUES}})
                    times.append((time.perf_counter() - began) * 1000)
                    saved += reply.status_code == 201
                    await asyncio.sleep(pause * (0.5 + rng.random()))

    await asyncio.gather(*(rate(at, *person) for at, person in enumerate(crowd)))
    return times, saved


def processor_seconds(pid: int) -> float:
    """What the server has used so far: on a busy machine this says more than times do."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[-1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(what: str, pid: int, url: str, crowd: list, seconds: float, *, pause: float) -> None:
    before = processor_seconds(pid)
    times, saved = asyncio.run(work(url, crowd, seconds, pause=pause))
    used = 1000 * (processor_seconds(pid) - before) / max(1, saved)
    p50, p95, p99 = np.percentile(times, [50, 95, 99])
    pace = f"{saved / seconds:.0f} answers a second, {used:.1f} ms of the server's processor each"
    print(f"{what}: {pace}; p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms", flush=True)


if __name__ == "__main__":
    main()
