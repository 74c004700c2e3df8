"""From a card's file to bytes that are what the card says: out of a mirror, the cache, or the network.

Every read is checked against size and SHA-256. A hash costs less than a millisecond for most of these files, less than
finding out whether it was checked before. A download goes to a name of its own and is moved into place when it is
whole, so that neither an interruption nor a second process leaves half a file under the right name.

pooch would be the kept-up downloader to use, but it starts an interrupted download again from nothing, knows no mirrors
to ask before the origin, and brings requests and four packages more.
"""

import glob
import hashlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from plainly.core import files as core_files
from plainly.core import limits
from plainly.core.errors import DataUnavailable
from plainly.core.progress import Progress, Tell, no_progress
from plainly.data.card import Card, File, Local

MIRROR = "PLAINLY_MIRROR"
CACHE = "PLAINLY_CACHE"

_ATTEMPTS = 3
_BLOCK = 1 << 16
_THREADS = 8


def cache_directory() -> Path:
    """Where downloads go: the folder ``data`` of plainly's cache directory."""
    return core_files.cache_directory() / "data"


def read(
    card: Card, files: Sequence[File] | None = None, *, progress: Progress = no_progress, repair: bool = False
) -> tuple[Local, ...]:
    """All or some files of a card, downloaded where needed and checked; ``repair`` replaces wrong ones in the cache."""
    files = card.files if files is None else files
    at_hand = {file: _at_hand(card, file, repair=repair) for file in files}
    missing = [file for file, local in at_hand.items() if local is None]
    downloaded: dict[File, Local] = {}
    if missing:
        with progress(f"fetching {card.name}", total=sum(file.size for file in missing), unit="bytes") as tell:
            downloaded = _download_all(missing, tell)
    return tuple(at_hand[file] or downloaded[file] for file in files)


def whereabouts(file: File) -> Path | None:
    """Where the file lies, if it does and has the right size; its content is checked only when it is read."""
    directories = (place for place in (_mirror(), cache_directory()) if isinstance(place, Path))
    paths = (directory / file.place for directory in directories)
    return next((path for path in paths if path.is_file() and path.stat().st_size == file.size), None)


def _at_hand(card: Card, file: File, *, repair: bool) -> Local | None:
    """The file out of a mirror directory or the cache, or None when it is in neither."""
    mirror = _mirror()
    mirrored = isinstance(mirror, Path) and (mirror / file.place).is_file()
    path = (mirror if isinstance(mirror, Path) and mirrored else cache_directory()) / file.place
    if not path.is_file():
        return None
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataUnavailable(f"Cannot read {path}: {error.strerror}. Make it readable or remove it.") from error
    problem = _wrong(file, data)
    if not problem:
        return Local(file, path, data)
    if repair and not mirrored:
        return None
    advice = f"Fetch it again: plainly data get {card.name}"
    if mirrored:
        advice = f"It is read because {MIRROR} is set. Put the file from {file.url} in its place, or unset {MIRROR}."
    raise DataUnavailable(f"{path} is not the file that belongs there: {problem}. {advice}")


def _mirror() -> Path | str | None:
    """The mirror that the environment names: a directory, a base URL without a slash at its end, or none."""
    named = os.environ.get(MIRROR)
    if not named:
        return None
    if named.startswith(("http://", "https://")):
        return named.rstrip("/")
    directory = Path(named).expanduser()
    if not directory.is_dir():
        raise DataUnavailable(
            f"{MIRROR} is {named!r}, which is no directory and no http(s) URL. Correct it, or unset it to download."
        )
    return directory


def _wrong(file: File, data: bytes) -> str:
    """What is wrong with the content, in words; empty when nothing is."""
    if len(data) != file.size:
        return f"it has {len(data):,} bytes instead of {file.size:,}"
    sha256 = hashlib.sha256(data).hexdigest()
    return "" if sha256 == file.sha256 else f"its SHA-256 is {sha256}, not {file.sha256}"


def _download_all(files: Sequence[File], tell: Tell) -> dict[File, Local]:
    if len(files) == 1:
        return {files[0]: _download(files[0], tell)}
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(_THREADS)
    try:
        return dict(zip(files, pool.map(lambda file: _download(file, tell), files), strict=True))
    finally:
        pool.shutdown(cancel_futures=True)  # After a failure the rest would fail too, one time-out after another.


def _download(file: File, tell: Tell) -> Local:
    from urllib.parse import quote

    target = cache_directory() / file.place
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = _claim_part(target)
    except OSError as error:
        raise DataUnavailable(
            f"Cannot write to the cache for {file.url}: {error}. Set {CACHE} to a directory that you may write to."
        ) from error
    mirror = _mirror()
    urls = [f"{mirror}/{quote(file.place)}"] if isinstance(mirror, str) else []
    scheme, _, rest = file.url.partition("://")
    urls.append(f"{scheme}://{quote(rest, safe='/:+')}")  # Cards hold URLs as people read them, with spaces.
    told = 0

    def reach(size: int) -> None:
        """Tell that so much of the file is there, more than before or less."""
        nonlocal told
        now = min(size, file.size)
        tell(now - told)
        told = now

    reasons = []
    try:
        for url in urls:
            problem = _transfer(url, file, part, reach)
            if not problem:
                os.replace(part, target)
                return Local(file, target, target.read_bytes())
            reasons.append(f"{url}: {problem}")
    finally:
        if part.exists():  # What has come so far waits for the next run, under a name that nobody writes to.
            os.replace(part, target.with_name(f"{target.name}.part"))
    raise DataUnavailable(
        f"Could not download {'; nor '.join(reasons)}. Run again to go on, or place the file at {target}, "
        f"or set {MIRROR} to a directory or base URL that has it at {file.place}."
    )


def _claim_part(target: Path) -> Path:
    """A name for this download alone, with what an earlier one left behind, if anything.

    Renaming is atomic, so of two processes only one gets the remains and the other starts from nothing.
    """
    own = target.with_name(f"{target.name}.{os.urandom(4).hex()}.part")
    named = target.with_name(f"{target.name}.part")
    # Parts of processes that were killed keep the names that they were given.
    for path in [named, *target.parent.glob(f"{glob.escape(target.name)}.{'[0-9a-f]' * 8}.part")]:
        try:
            # A part untouched for longer than a silent connection lives has no writer any more.
            if path == named or time.time() - path.stat().st_mtime > 2 * limits.limit("wait"):
                os.rename(path, own)
                break
        except FileNotFoundError:
            continue
    return own


def _transfer(url: str, file: File, part: Path, reach: Callable[[int], None]) -> str:
    """Bring ``part`` to the whole file. What went wrong, in words; empty when all is well."""
    import http.client  # The network stack takes 40 ms to import; most runs find their data at hand.
    import urllib.error

    problem = ""
    for _ in range(_ATTEMPTS):
        fresh = not part.exists()
        try:
            _append(url, file, part, reach)
        except urllib.error.HTTPError as error:
            return f"the server answers {error.code} {error.reason}"
        except urllib.error.URLError as error:
            return str(error.reason)
        except (OSError, http.client.HTTPException) as error:
            problem = str(error) or type(error).__name__
            continue
        problem = _wrong(file, part.read_bytes())
        if not problem:
            return ""
        if part.stat().st_size >= file.size:
            part.unlink()  # Wrong content does not get better by going on from it.
            if fresh:
                break
    return problem


def _append(url: str, file: File, part: Path, reach: Callable[[int], None]) -> None:
    """Ask for what is missing from ``part`` and write it, from the start if the server does not do ranges."""
    import urllib.request

    from plainly import __version__

    have = part.stat().st_size if part.exists() else 0
    reach(have)
    if have == file.size:
        return
    request = urllib.request.Request(url, headers={"User-Agent": f"plainly/{__version__}"})
    if 0 < have < file.size:
        request.add_header("Range", f"bytes={have}-")
    with urllib.request.urlopen(request, timeout=limits.limit("wait")) as answer:
        goes_on = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        with part.open("ab" if goes_on else "wb") as out:
            done = have if goes_on else 0
            while done <= file.size and (block := answer.read(_BLOCK)):
                done += out.write(block)
                reach(done)
