"""What is not the file that the card promises is never used: truncated, corrupted, interrupted, raced for, absent."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from file_server import Server, Watched
from plainly import data
from plainly.core import limits
from plainly.core.errors import DataUnavailable
from plainly.data import fetch
from plainly.data.card import Card, File

CONTENT = b"".join(b"line %d\n" % i for i in range(40_000))
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PLAINLY_MIRROR", raising=False)
    return tmp_path / "cache" / "data"


def one_file(url: str, content: bytes = CONTENT) -> Card:
    file = File(url, hashlib.sha256(content).hexdigest(), len(content), "source")
    return Card("some/test", "evalset", "t", "d", "unknown", "", "", "", "lines", 1, (file,))


def served(server: Server, path: str = "/some/file.txt") -> Card:
    server.files[path] = CONTENT
    return one_file(server.base + path)


def leftovers(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file())


def test_download_is_checked_kept_and_not_repeated(server: Server, cache: Path) -> None:
    card = served(server, "/some/a file+b^c.txt")
    watched = Watched()
    (local,) = fetch.read(card, progress=watched)
    assert local.data == CONTENT
    assert local.path == cache / card.files[0].place
    assert watched.bars == [("fetching some/test", len(CONTENT), "bytes")]
    assert sum(watched.told) == len(CONTENT)
    assert min(watched.told) >= 0
    assert leftovers(cache) == ["a file+b^c.txt"]
    assert fetch.read(card)[0].data == CONTENT
    assert len(server.requests) == 1


def test_many_files_at_once(server: Server, cache: Path) -> None:
    cards = [served(server, f"/many/{i}") for i in range(20)]
    card = Card("some/test", "evalset", "t", "d", "unknown", "", "", "", "lines", 1, tuple(c.files[0] for c in cards))
    watched = Watched()
    assert [local.path.name for local in fetch.read(card, progress=watched)] == [str(i) for i in range(20)]
    assert watched.bars == [("fetching some/test", 20 * len(CONTENT), "bytes")]
    assert sum(watched.told) == 20 * len(CONTENT)
    assert len(leftovers(cache)) == 20


def test_truncated_answers_are_gone_on_from(server: Server, cache: Path) -> None:
    card = served(server)
    server.cut = len(CONTENT) // 2 + 1
    assert fetch.read(card)[0].data == CONTENT
    assert server.requests == [("/some/file.txt", None), ("/some/file.txt", f"bytes={server.cut}-")]
    assert leftovers(cache) == ["file.txt"]


def test_a_download_that_stays_truncated_is_refused_and_resumed_by_the_next_run(server: Server, cache: Path) -> None:
    card = served(server)
    server.cut = 1000
    with pytest.raises(DataUnavailable, match=r"some/file\.txt: .*3,000 bytes"):
        fetch.read(card)
    assert leftovers(cache) == ["file.txt.part"]
    server.cut = None
    assert fetch.read(card)[0].data == CONTENT
    assert server.requests[-1] == ("/some/file.txt", "bytes=3000-")
    assert leftovers(cache) == ["file.txt"]


def test_resuming_where_the_server_knows_no_ranges(server: Server, cache: Path) -> None:
    card = served(server)
    server.cut = 1000
    with pytest.raises(DataUnavailable):
        fetch.read(card)
    server.cut, server.ranges = None, False
    watched = Watched()
    assert fetch.read(card, progress=watched)[0].data == CONTENT
    assert watched.told[:2] == [3000, len(CONTENT[: 1 << 16]) - 3000], "what was there is told, then put right"
    assert sum(watched.told) == len(CONTENT)


def test_the_part_of_a_killed_process_is_used_once_it_is_surely_dead(server: Server, cache: Path) -> None:
    card = served(server)
    part = cache / (card.files[0].place + ".0badcafe.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT[:5000])
    (other := part.with_name("file.txt.tok.0badcafe.part")).write_bytes(b"belongs to file.txt.tok")
    long_ago = time.time() - 3600
    os.utime(other, (long_ago, long_ago))
    assert fetch.read(card)[0].data == CONTENT
    assert server.requests[-1][1] is None
    assert part.exists()
    os.utime(part, (long_ago, long_ago))
    (cache / card.files[0].place).unlink()
    assert fetch.read(card)[0].data == CONTENT
    assert server.requests[-1][1] == "bytes=5000-"
    assert leftovers(cache) == ["file.txt", "file.txt.tok.0badcafe.part"]


def test_a_corrupted_download_is_refused_and_leaves_nothing(server: Server, cache: Path) -> None:
    card = served(server)
    server.spoil = True
    with pytest.raises(DataUnavailable, match=f"[0-9a-f]{{64}}.*{CHECKSUM}"):
        fetch.read(card)
    assert leftovers(cache) == []
    assert len(server.requests) == 1


def test_a_corrupted_beginning_does_not_spoil_the_resumed_file(server: Server, cache: Path) -> None:
    card = served(server)
    part = cache / (card.files[0].place + ".part")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"nonsense")
    assert fetch.read(card)[0].data == CONTENT
    assert [wanted for _, wanted in server.requests] == ["bytes=8-", None]


def test_a_longer_answer_than_promised_is_refused(server: Server, cache: Path) -> None:
    card = served(server)
    server.files["/some/file.txt"] = CONTENT + b"more"
    with pytest.raises(DataUnavailable, match=r"file\.txt"):
        fetch.read(card)
    assert leftovers(cache) == []


@pytest.mark.parametrize("damage", [CONTENT[:-1], CONTENT[:-1] + b"x", b""], ids=["cut", "changed", "emptied"])
def test_a_damaged_cache_is_refused_and_get_repairs_it(server: Server, cache: Path, damage: bytes) -> None:
    card = served(server)
    path = fetch.read(card)[0].path
    path.write_bytes(damage)
    with pytest.raises(DataUnavailable, match=r"file\.txt .*plainly data get some/test"):
        fetch.read(card)
    assert fetch.read(card, repair=True)[0].data == CONTENT
    assert path.read_bytes() == CONTENT


def test_no_network_says_where_to_put_the_file(cache: Path) -> None:
    card = one_file("http://127.0.0.1:9/some/file.txt")
    with pytest.raises(DataUnavailable) as raised:
        fetch.read(card)
    message = str(raised.value)
    assert card.files[0].url in message
    assert str(cache) in message
    assert message.count(card.files[0].place) == 1, "a long address is read once"
    assert "PLAINLY_MIRROR" in message


def test_no_network_for_many_files_fails_once(cache: Path) -> None:
    files = tuple(one_file(f"http://127.0.0.1:9/{i}").files[0] for i in range(100))
    card = Card("some/test", "evalset", "t", "d", "unknown", "", "", "", "lines", 1, files)
    with pytest.raises(DataUnavailable, match="PLAINLY_MIRROR"):
        fetch.read(card)


@pytest.mark.long
def test_servers_that_do_not_answer_are_given_up(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the mirror nor the origin answers; both are tried, and neither is waited for without end."""
    monkeypatch.setenv(limits.SETTING, "wait=1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        base = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("PLAINLY_MIRROR", f"{base}/mirror")
        with pytest.raises(DataUnavailable) as raised:
            fetch.read(one_file(f"{base}/some/file.txt"))
    assert str(raised.value).count("timed out") == 2


def test_a_file_that_is_gone_from_the_server(server: Server) -> None:
    with pytest.raises(DataUnavailable, match="404"):
        fetch.read(one_file(f"{server.base}/gone.txt"))


def test_a_mirror_directory_is_read_in_place_and_checked(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = one_file("https://data.example/some/file.txt")
    path = tmp_path / "mirror" / "data.example" / "some" / "file.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    monkeypatch.setenv("PLAINLY_MIRROR", str(tmp_path / "mirror"))
    assert fetch.read(card)[0].path == path
    assert not cache.exists()
    stat = path.stat()
    path.write_bytes(CONTENT[:-1] + b"x")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(DataUnavailable, match=r"file\.txt .*data\.example/some/file\.txt.*unset"):
        fetch.read(card)
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(DataUnavailable, match=r"file\.txt"):
        fetch.read(card, repair=True)
    assert path.read_bytes() == CONTENT[:-1], "a mirror is never written to"


def test_a_mirror_url_serves_host_and_path(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = one_file("https://data.example/some/a file.txt")
    server.files["/base/data.example/some/a file.txt"] = CONTENT
    monkeypatch.setenv("PLAINLY_MIRROR", f"{server.base}/base/")
    assert fetch.read(card)[0].path == cache / "data.example/some/a file.txt"
    assert len(server.requests) == 1


def test_what_a_mirror_url_lacks_comes_from_its_origin(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    card = served(server)
    monkeypatch.setenv("PLAINLY_MIRROR", f"{server.base}/empty")
    assert fetch.read(card)[0].data == CONTENT
    assert [path for path, _ in server.requests] == [f"/empty/{card.files[0].place}", "/some/file.txt"]


def test_a_mirror_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAINLY_MIRROR", "/no/such/directory")
    with pytest.raises(DataUnavailable, match="PLAINLY_MIRROR is '/no/such/directory'"):
        fetch.read(one_file("https://data.example/file.txt"))


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "occupied").write_text("a file where the cache should be")
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "occupied"))
    with pytest.raises(DataUnavailable, match="Set PLAINLY_CACHE"):
        fetch.read(one_file("http://127.0.0.1:9/file.txt"))


def test_processes_that_race_for_a_file_all_get_it_whole(server: Server, cache: Path) -> None:
    card = served(server)
    program = (
        "from plainly.data import fetch\nfrom plainly.data.card import Card, File\n"
        f"file = File({card.files[0].url!r}, {CHECKSUM!r}, {len(CONTENT)}, 'source')\n"
        "card = Card('some/test', 'evalset', 't', 'd', 'unknown', '', '', '', 'lines', 1, (file,))\n"
        "assert len(fetch.read(card)[0].data) == file.size\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) for _ in range(4)]
    threads = [threading.Thread(target=fetch.read, args=(card,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.communicate()[1] for process in running] == [b""] * 4
    assert leftovers(cache) == ["file.txt"]
    assert (cache / card.files[0].place).read_bytes() == CONTENT


def test_an_interrupted_download_leaves_a_part_and_no_file(server: Server, cache: Path) -> None:
    card = served(server)

    class Interrupted(Watched):
        def _tell(self, amount: int) -> None:
            if amount:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch.read(card, progress=Interrupted())
    assert leftovers(cache) == ["file.txt.part"]
    assert fetch.read(card)[0].data == CONTENT
    assert server.requests[-1][1] is not None


def test_a_whole_set_through_a_mirror_url(
    server: Server, mirror: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in data.card("asset/test").files:
        server.files[f"/{file.place}"] = (mirror / file.place).read_bytes()
    monkeypatch.setenv("PLAINLY_MIRROR", server.base)
    evalset = data.load("asset/test")
    assert len(evalset) == 359
    monkeypatch.setenv("PLAINLY_MIRROR", str(cache))
    assert data.load("asset/test") == evalset, "a cache serves as a mirror directory"
