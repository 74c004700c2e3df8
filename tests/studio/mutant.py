"""The studio with one fault planted: ``python mutant.py FAULT serve …``. The crash test must catch each."""

from __future__ import annotations

import sys
import time
import uuid
from dataclasses import replace
from typing import Any

from sqlalchemy import select

from plainly.cli import main
from plainly_studio import assignments, store
from plainly_studio.schema import assignment


def acknowledge_before_commit() -> None:
    """Tell the client first, write afterwards; the pause stands for a disk that is busy."""

    def settle(self: store.Writer, jobs: list[Any]) -> None:
        with self.engine.connect() as connection, connection.begin():
            for job in jobs:
                try:
                    with connection.begin_nested():
                        result = job.work(connection)
                except Exception as error:
                    job.future.set_exception(error)
                else:
                    job.future.set_result(result)
            time.sleep(0.03)

    store.Writer._settle = settle  # type: ignore[method-assign,assignment]


def no_key_and_no_revision() -> None:
    """Every request is a new one, and the newest wins."""
    original = assignments.submit_all

    def submit_all(connection: Any, project: Any, submissions: Any) -> Any:
        numbers = [sent.assignment_id for sent in submissions]
        rows = connection.execute(select(assignment.c.id, assignment.c.revision).where(assignment.c.id.in_(numbers)))
        revisions = {row.id: row.revision for row in rows}
        options = [{"key": uuid.uuid4().hex, "revision": revisions[number]} for number in numbers]
        new = [replace(sent, **own) for sent, own in zip(submissions, options, strict=True)]
        return original(connection, project, new)

    assignments.submit_all = submit_all


if __name__ == "__main__":
    {one.__name__: one for one in (acknowledge_before_commit, no_key_and_no_revision)}[sys.argv[1]]()
    sys.exit(main(["studio", *sys.argv[2:]]))
