"""The files of a card, from a mirror, the cache, or the network; every read is checked against size and SHA-256.

A hash costs less than a millisecond for most of these files.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from plainly.core import downloads
from plainly.core import files as core_files
from plainly.core.downloads import Remote
from plainly.core.errors import DataUnavailable
from plainly.core.progress import Progress, Tell, no_progress
from plainly.data.card import Card, File, Local

MIRROR = "PLAINLY_MIRROR"
CACHE = "PLAINLY_CACHE"

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
    problem = _remote(file).find_problem(data)
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


def _remote(file: File, *urls: str) -> Remote:
    return Remote(urls, file.size, file.sha256)


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
    mirror = _mirror()
    urls = [f"{mirror}/{quote(file.place)}"] if isinstance(mirror, str) else []
    urls.append(quote(file.url, safe="/:+"))  # Cards hold URLs as people read them, with spaces.
    try:
        reasons = downloads.download(_remote(file, *urls), target, tell)
    except OSError as error:
        raise DataUnavailable(
            f"Cannot write to the cache for {file.url}: {error}. Set {CACHE} to a directory that you may write to."
        ) from error
    if not reasons:
        return Local(file, target, target.read_bytes())
    raise DataUnavailable(
        f"Could not download {'; nor '.join(reasons)}. Run again to resume, or place the file in {cache_directory()}, "
        f"or in a directory or at a base URL that {MIRROR} names: under its address without https://"
    )
