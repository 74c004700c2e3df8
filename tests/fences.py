"""The fenced blocks of the pages, for the tests and for scripts/walk: one reading of what a page shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Fence:
    language: str
    title: str  # the file it shows, or ""
    body: str

    def commands(self) -> list[str]:
        """Its command lines: those after ``$ ``, or all of them where no line has one."""
        if self.language not in ("sh", "console"):
            return []
        lines = self.body.replace("\\\n", " ").splitlines()
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        return prompted or [line for line in lines if line.strip() and not line.startswith("#")]

    def output(self) -> str:
        """What stands below the command of a console block: what it prints."""
        lines = self.body.replace("\\\n", " ").splitlines()
        return "\n".join(lines[1:]).strip("\n") if self.language == "console" and lines[0].startswith("$ ") else ""


def fences(page: Path) -> list[Fence]:
    return [Fence(*match) for match in _FENCE.findall(page.read_text(encoding="utf-8"))]
