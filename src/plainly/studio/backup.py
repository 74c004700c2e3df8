"""A copy of a SQLite project while it runs."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from plainly.errors import BadInput
from plainly.studio.store import Store


def backup_to(store: Store, path: Path) -> None:
    """Copy the database, consistent as of one moment, readable by its owner alone. An existing file is not replaced."""
    if not store.sqlite or store.url.database is None:
        raise BadInput("Only SQLite projects are backed up here. PostgreSQL has pg_dump.")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise BadInput(f"{path} exists already. Choose another name for the copy.") from None
    with closing(sqlite3.connect(store.url.database)) as here, closing(sqlite3.connect(path)) as there:
        here.backup(there)
