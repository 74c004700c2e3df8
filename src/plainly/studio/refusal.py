"""A request that is answered with no: the status, a code for the page's script, and a sentence for the person."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """Raised inside a transaction it undoes it; raised in a handler it becomes the answer."""

    def __init__(self, status: int, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.more = status, code, message, more

    def body(self) -> dict[str, Any]:
        """What is sent."""
        return {"error": self.code, "message": self.message, **self.more}
