"""The files of a card, from a mirror, the cache, or the network; every read is checked against size and SHA-256.

A hash costs less than a millisecond for most of these files. A download is written under a unique name and moved when
it is complete, so that neither an interruption nor a second process leaves half a file under the right name.

pooch would be the well-kept downloader to use, but it cannot resume an interrupted download or try a mirror before the
origin, and it depends on requests and four other packages.
"""

import glob
import hashlib
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
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
    """Return the directory for downloads: ``data`` in plainly's cache directory."""
    return core_files.cache_directory() / "data"


def read(
    card: Card, files: Sequence[File] | None = None, *, progress: Progress = no_progress, repair: bool = False
) -> tuple[Local, ...]:
    """Return all or some files of a card, downloaded if needed; ``repair`` replaces wrong ones in the cache."""
    files = card.files if files is None else files
    local_files = {file: local for file in files if (local := _find_local(card, file, repair=repair)) is not None}
    missing = [file for file in files if file not in local_files]
    if missing:
        with progress(f"fetching {card.name}", total=sum(file.size for file in missing), unit="bytes") as tell:
            local_files |= _download_all(missing, tell)
    return tuple(local_files[file] for file in files)


def whereabouts(file: File) -> Path | None:
    """Return the path of a file that is here and has the right size; its content is checked when it is read."""
    return next((path for path in _local_paths(file) if path.stat().st_size == file.size), None)


def _local_paths(file: File) -> list[Path]:
    """Return the paths at which a file exists: in a mirror directory, then in the cache."""
    directories = [place for place in (_mirror(), cache_directory()) if isinstance(place, Path)]
    return [directory / file.place for directory in directories if (directory / file.place).is_file()]


def _find_local(card: Card, file: File, *, repair: bool) -> Local | None:
    """Return the file from a mirror directory or the cache, or None if it is in neither."""
    path = next(iter(_local_paths(file)), None)
    if path is None:
        return None
    is_mirrored = path != cache_directory() / file.place
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataUnavailable(f"Cannot read {path}: {error.strerror}. Make it readable or remove it.") from error
    problem = _find_problem(file, data)
    if not problem:
        return Local(file, path, data)
    if repair and not is_mirrored:
        return None
    advice = f"Fetch it again: plainly data get {card.name}"
    if is_mirrored:
        advice = f"It is read because {MIRROR} is set. Replace it by the file from {file.url}, or unset {MIRROR}."
    raise DataUnavailable(f"{path} is not the file on the card: {problem}. {advice}")


def _mirror() -> Path | str | None:
    """Return the mirror in the environment: a directory, a base URL without a final slash, or None."""
    setting = os.environ.get(MIRROR)
    if not setting:
        return None
    if setting.startswith(("http://", "https://")):
        return setting.rstrip("/")
    directory = Path(setting).expanduser()
    if not directory.is_dir():
        problem = f"{MIRROR} is {setting!r}, which is neither a directory nor an http(s) URL"
        raise DataUnavailable(f"{problem}. Correct it, or unset it to download.")
    return directory


def _find_problem(file: File, data: bytes) -> str:
    """Return what is wrong with the content, or an empty string."""
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
        pool.shutdown(cancel_futures=True)  # After a failure the others would time out, too.


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
    urls.append(quote(file.url, safe="/:+"))  # Cards hold URLs as people read them, with spaces.
    before = 0

    def reach(size: int) -> None:
        """Report how much of the file is there, more than before or less."""
        nonlocal before
        now = min(size, file.size)
        tell(now - before)
        before = now

    reasons = []
    try:
        for url in urls:
            problem = _transfer(url, file, part, reach)
            if not problem:
                os.replace(part, target)
                return Local(file, target, target.read_bytes())
            reasons.append(f"{url}: {problem}")
    finally:
        if part.exists():  # Keep it for the next run.
            os.replace(part, target.with_name(f"{target.name}.part"))
    raise DataUnavailable(
        f"Could not download {'; nor '.join(reasons)}. Run again to resume, or place the file in {cache_directory()}, "
        f"or in a directory or at a base URL that {MIRROR} names: under its address without https://"
    )


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


def _transfer(url: str, file: File, part: Path, reach: Callable[[int], None]) -> str:
    """Complete ``part``; return what went wrong, or an empty string."""
    import http.client  # Importing the network stack takes 40 ms, and most runs do not need it.
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
        problem = _find_problem(file, part.read_bytes())
        if not problem:
            return ""
        if part.stat().st_size >= file.size:
            part.unlink()  # Resuming cannot correct wrong content.
            if fresh:
                break
    return problem


def _append(url: str, file: File, part: Path, reach: Callable[[int], None]) -> None:
    """Download what is missing from ``part``, from the start if the server does not support ranges."""
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
