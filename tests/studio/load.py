"""Dozens of raters who never give up: the answers that were acknowledged are compared with the database at the end."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

from studio.conftest import Server, Study, four, hidden_field, integrity_faults


@dataclass
class Tally:
    """What the clients saw."""

    saved: dict[str, tuple[int, Any]] = field(default_factory=dict)  # key → assignment, payload
    server_errors: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    lost_connections: int = 0
    double_sends: int = 0
    kills: int = 0
    milliseconds: list[float] = field(default_factory=list)


async def run(study: Study, server: Server, *, raters: int, each: int, kills: int, seed: int = 1) -> Tally:
    """All raters at once, and a killer among them."""
    tally = Tally()
    links = [study.link() for _ in range(raters)]
    workers = [
        asyncio.create_task(_rate(server, link, each, tally, random.Random(seed + at))) for at, link in enumerate(links)
    ]
    killer = asyncio.create_task(_kill(server, tally, kills, raters * each))
    try:
        await asyncio.gather(*workers)
    finally:
        killer.cancel()
        for worker in workers:
            worker.cancel()
    return tally


async def _kill(server: Server, tally: Tally, kills: int, total: int) -> None:
    for number in range(1, kills + 1):
        while len(tally.saved) < total * number // (kills + 1):
            await asyncio.sleep(0.002)
        server.kill()
        tally.kills += 1
        await asyncio.to_thread(server.start)


async def _rate(server: Server, link: str, each: int, tally: Tally, rng: random.Random) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=20, verify=False) as client:
        page = await _send(client, tally, "GET", f"/join/{link}")
        form = {"page_token": hidden_field(page.text, "page_token")}
        while True:  # A link can be used again: after a lost reply, try again.
            await _send(client, tally, "POST", f"/join/{link}", data=form, headers={"origin": server.url})
            me = await _send(client, tally, "GET", "/api/me")
            if me.status_code == 200:
                break
        headers = {"origin": server.url, "x-studio-token": me.json()["token"]}
        done = 0
        while done < each:
            reply = await _send(client, tally, "POST", "/api/claim", json={"want": 10, "have": []}, headers=headers)
            items = reply.json()["items"]
            assert items, reply.text
            for item in items[: each - done]:
                await _answer(client, tally, item, rng, headers)
                done += 1


async def _answer(
    client: httpx.AsyncClient, tally: Tally, item: dict[str, Any], rng: random.Random, headers: dict[str, str]
) -> None:
    payload = {**four(rng.randint(1, 5)), "comment": uuid.uuid4().hex}
    body = {
        "assignment": item["assignment"],
        "revision": item["revision"],
        "key": uuid.uuid4().hex,
        "payload": payload,
    }
    sends = 2 if rng.random() < 0.05 else 1
    tally.double_sends += sends - 1
    reply = await asyncio.gather(
        *(_send(client, tally, "POST", "/api/answer", json=body, headers=headers) for _ in range(sends))
    )
    for answer in reply:
        if answer.status_code == 201:
            tally.saved[body["key"]] = (item["assignment"], payload)
        else:
            tally.refusals.append(f"{answer.status_code} {answer.text}")


async def _send(client: httpx.AsyncClient, tally: Tally, method: str, path: str, **more: Any) -> httpx.Response:
    """Until an answer comes; the same request each time, as the page does it."""
    loop = asyncio.get_running_loop()
    while True:
        began = loop.time()
        try:
            answer = await client.request(method, path, **more)
        except httpx.HTTPError:
            tally.lost_connections += 1
            await asyncio.sleep(0.05)
            continue
        if answer.status_code >= 500:
            tally.server_errors.append(f"{answer.status_code} {answer.text}")
        if answer.status_code >= 500 or answer.status_code == 429:
            await asyncio.sleep(0.1)
            continue
        tally.milliseconds.append((loop.time() - began) * 1000)
        return answer


def faults(study: Study, tally: Tally) -> dict[str, int]:
    """What went wrong, by kind; all zero when nothing did."""
    rows = study.query("SELECT key, assignment_id, payload FROM entry")
    stored = {row.key: (row.assignment_id, json.loads(row.payload)) for row in rows}
    per_assignment = Counter(row.assignment_id for row in rows)
    answered = {assignment: payload["comment"] for assignment, payload in tally.saved.values()}
    by_comment = {json.loads(row.payload)["comment"] for row in rows}
    return {
        "acknowledged but lost": sum(comment not in by_comment for comment in answered.values()),
        "acknowledged but different": sum(
            key in stored and stored[key] != expected for key, expected in tally.saved.items()
        ),
        "stored twice": sum(count - 1 for count in per_assignment.values()),
        "refused without cause": len(tally.refusals),
        "server errors": len(tally.server_errors),
        "integrity": len(integrity_faults(study.store)),
        "stored without acknowledgement": len(rows) - len(tally.saved) if len(rows) > len(tally.saved) else 0,
    }
