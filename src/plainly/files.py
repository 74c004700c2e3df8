"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from plainly.errors import BadInput


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write through a temporary file beside it, so that a reader never sees half of it."""
    target = Path(path)
    if not target.parent.is_dir():
        raise BadInput(f"Cannot write {path}: there is no directory {target.parent}. Make it first.")
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        with tempfile.NamedTemporaryFile("wb", dir=target.parent, delete=False) as part:
            part.write(data)
        os.chmod(part.name, 0o644)
        os.replace(part.name, target)
    except OSError as error:
        raise BadInput(f"Cannot write {path}: {error.strerror or error}.") from error
