"""A request that is answered with no: the status, a code for the page's script, and a sentence for the person."""

from typing import Any


class Refusal(Exception):
    """Raised inside a transaction it undoes it; raised in a handler it becomes the answer."""

    def __init__(self, status: int, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.more = status, message, more
        self.body = {"error": code, "message": message, **more}


def invalid(field: str, message: str) -> Refusal:
    """The refusal of a request for one of its fields."""
    return Refusal(422, "invalid", message, field=field)
