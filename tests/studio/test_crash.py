"""Fifty raters, a server that is killed again and again, and not one saved answer lost, doubled or refused.

By default scaled to a continuous-integration run; PLAINLY_STUDIO_FULL=1 runs 50 raters x 200 ratings with 20 kills.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from studio import load
from studio.conftest import HERE, Make, Postgres, rating_project, simple_items

pytestmark = [pytest.mark.system, pytest.mark.long]

FULL = bool(os.environ.get("PLAINLY_STUDIO_FULL"))
RATERS, EACH, KILLS = (50, 200, 20) if FULL else (50, 6, 3)


def amcheck(database: str) -> None:
    """PostgreSQL's own check of its tables and indexes."""
    tools = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_amcheck"))
    if tools:
        subprocess.run([tools[-1], "--install-missing", "--heapallindexed", database], check=True)


def test_no_saved_answer_is_lost_doubled_or_refused(make: Make, serve: Any, database: str) -> None:
    project = rating_project(assignment={"overlap": RATERS, "ahead": 10})
    study = make(project, simple_items(EACH), database=database)
    tally = asyncio.run(load.run(study, serve(study), raters=RATERS, each=EACH, kills=KILLS))
    assert tally.kills == KILLS
    assert tally.double_sends > 0
    assert len(tally.saved) == RATERS * EACH
    assert load.faults(study, tally) == dict.fromkeys(load.faults(study, tally), 0)
    if database:
        amcheck(database)
    if FULL:
        times = sorted(tally.milliseconds)
        sys.stderr.write(
            f"\n{study.store.url.get_backend_name()}: {len(tally.saved)} saved, {tally.double_sends} double sends, "
            f"{tally.lost_connections} lost connections, p50 {times[len(times) // 2]:.0f} ms, "
            f"p95 {times[int(len(times) * 0.95)]:.0f} ms\n"
        )


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("acknowledge_before_commit", "acknowledged but lost"),
        ("no_key_and_no_revision", "stored twice"),
    ],
)
def test_the_crash_test_catches_a_planted_fault(make: Make, serve: Any, fault: str, seen: str) -> None:
    project = rating_project(assignment={"overlap": 15, "ahead": 10})
    study = make(project, simple_items(15))
    kills = 3 if fault == "acknowledge_before_commit" else 0
    server = serve(study, command=[sys.executable, str(HERE / "mutant.py"), fault])
    tally = asyncio.run(load.run(study, server, raters=15, each=15, kills=kills))
    assert load.faults(study, tally)[seen] > 0


async def _two_servers(study: Any, servers: list[Any], *, raters: int, each: int, kills: int, other: Any = None) -> Any:
    """Raters on both servers of one database at once; ``other`` is done beside them."""
    runs = [
        load.run(study, server, raters=raters, each=each, kills=kills, seed=100 * at)
        for at, server in enumerate(servers)
    ]
    tallies = await asyncio.gather(*runs, *([other()] if other else []))
    first, second = tallies[:2]
    first.saved |= second.saved
    first.refusals += second.refusals
    return first


def test_two_servers_on_one_database_lose_nothing(make: Make, serve: Any, database: str) -> None:
    study = make(rating_project(assignment={"overlap": 20, "ahead": 10}), simple_items(12), database=database)
    servers = [serve(study), serve(study)]
    tally = asyncio.run(_two_servers(study, servers, raters=10, each=12, kills=2))
    assert len(tally.saved) == 240
    faults = load.faults(study, tally)
    assert faults == dict.fromkeys(faults, 0)


def test_a_killed_postgresql_under_two_servers_loses_nothing(
    make: Make, serve: Any, postgres_database: str, postgres_server: Postgres
) -> None:
    study = make(rating_project(assignment={"overlap": 20, "ahead": 10}), simple_items(12), database=postgres_database)
    servers = [serve(study), serve(study)]

    async def kill() -> None:
        for _ in range(3):
            await asyncio.sleep(1)
            await asyncio.to_thread(postgres_server.kill)
            await asyncio.to_thread(postgres_server.start)

    tally = asyncio.run(_two_servers(study, servers, raters=10, each=12, kills=0, other=kill))
    assert len(tally.saved) == 240
    faults = load.faults(study, tally)
    # While there is no database the servers say so, and the raters try again.
    assert {name: count for name, count in faults.items() if name != "server errors"} == dict.fromkeys(
        set(faults) - {"server errors"}, 0
    )
