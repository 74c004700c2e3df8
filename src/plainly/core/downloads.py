"""Download a file: from several addresses in turn, resumed where it was cut, checked, and moved when it is complete.

A download is written under a unique name, so that neither an interruption nor a second process leaves half a file
under the right name.

pooch would be the well-kept downloader to use, but it cannot resume an interrupted download or try a mirror before the
origin, and it depends on requests and four other packages.
"""

import glob
import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from plainly.core import limits
from plainly.core.progress import Tell

if TYPE_CHECKING:
    import urllib.request

_ATTEMPTS = 3
_BLOCK = 1 << 16
_GIT_DIGITS = 40  # of the id of a file in git; a SHA-256 has 64


@dataclass(frozen=True)
class Remote:
    """A file to download: its addresses, the first of which is tried first, its size, and its digest.

    The digest is a SHA-256, or the id of a file in git (a SHA-1). ``token`` is sent to the address itself, not to
    where it redirects.
    """

    urls: tuple[str, ...]
    size: int
    digest: str
    token: str = ""

    def find_problem(self, content: bytes | Path) -> str:
        """Return what is wrong with the content or the file, or an empty string."""
        length = len(content) if isinstance(content, bytes) else content.stat().st_size
        if length != self.size:
            return f"it has {length:,} bytes instead of {self.size:,}"
        is_git = len(self.digest) == _GIT_DIGITS
        hasher = hashlib.sha1(b"blob %d\0" % length, usedforsecurity=False) if is_git else hashlib.sha256()
        if isinstance(content, bytes):
            hasher.update(content)
        else:
            with content.open("rb") as file:
                while block := file.read(1 << 20):
                    hasher.update(block)
        digest = hasher.hexdigest()
        name = "id in git" if is_git else "SHA-256"
        return "" if digest == self.digest else f"its {name} is {digest}, not {self.digest}"


def download(remote: Remote, target: Path, tell: Tell) -> list[str]:
    """Download a file to ``target``; return why each address failed, or an empty list if one did not.

    ``tell`` is called with numbers of bytes. What was downloaded before an error is kept for the next call. An address
    that cannot be reached is tried once; one that breaks off, three times.
    """
    before = 0

    def reach(size: int) -> None:
        """Report how much of the file is there, more than before or less."""
        nonlocal before
        now = min(size, remote.size)
        tell(now - before)
        before = now

    target.parent.mkdir(parents=True, exist_ok=True)
    part = _claim_part(target)
    reasons = []
    try:
        for url in remote.urls:
            problem = _transfer(url, remote, part, reach)
            if not problem:
                os.replace(part, target)
                return []
            reasons.append(f"{url}: {problem}")
    finally:
        if part.exists():  # Keep it for the next run.
            os.replace(part, target.with_name(f"{target.name}.part"))
    return reasons


def _claim_part(target: Path) -> Path:
    """Return a name for this download alone, with the part that an earlier one left behind, if any.

    Renaming is atomic, so only one of two processes gets that part, and the other starts from the beginning.
    """
    own = target.with_name(f"{target.name}.{os.urandom(4).hex()}.part")
    left = target.with_name(f"{target.name}.part")
    # Parts of processes that were killed have unique names.
    for path in [left, *target.parent.glob(f"{glob.escape(target.name)}.{'[0-9a-f]' * 8}.part")]:
        with suppress(FileNotFoundError):
            # A part that is older than a silent connection can be has no writer any more.
            if path == left or time.time() - path.stat().st_mtime > 2 * limits.limit("wait"):
                os.rename(path, own)
                break
    return own


def _transfer(url: str, remote: Remote, part: Path, reach: Callable[[int], None]) -> str:
    """Complete ``part``; return what went wrong, or an empty string."""
    import http.client  # Importing the network stack takes 40 ms, and most runs do not need it.
    import urllib.error

    problem = ""
    for _ in range(_ATTEMPTS):
        fresh = not part.exists()
        try:
            _append(url, remote, part, reach)
        except urllib.error.HTTPError as error:
            return f"the server answers {error.code} {error.reason}"
        except urllib.error.URLError as error:
            return str(error.reason)
        except (OSError, http.client.HTTPException) as error:
            problem = str(error) or type(error).__name__
            continue
        problem = remote.find_problem(part)
        if not problem:
            return ""
        if part.stat().st_size >= remote.size:
            part.unlink()  # Resuming cannot correct wrong content.
            if fresh:
                break
    return problem


def _append(url: str, remote: Remote, part: Path, reach: Callable[[int], None]) -> None:
    """Download what is missing from ``part``, from the start if the server does not support ranges."""
    import urllib.request

    have = part.stat().st_size if part.exists() else 0
    reach(have)
    if have == remote.size and part.exists():
        return
    asks_for_rest = 0 < have < remote.size
    with urllib.request.urlopen(
        request(url, token=remote.token, start=have if asks_for_rest else 0), timeout=limits.limit("wait")
    ) as answer:
        goes_on = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        with part.open("ab" if goes_on else "wb") as out:
            done = have if goes_on else 0
            while done <= remote.size and (block := answer.read(_BLOCK)):
                done += out.write(block)
                reach(done)


def request(url: str, *, token: str = "", start: int = 0) -> "urllib.request.Request":
    """Return a request for a file, or for its rest from byte ``start``."""
    import urllib.request

    from plainly import __version__

    made = urllib.request.Request(url, headers={"User-Agent": f"plainly/{__version__}"})
    if start:
        made.add_header("Range", f"bytes={start}-")
    if token:
        made.add_unredirected_header("Authorization", f"Bearer {token}")
    return made
