"""A small web application for human evaluation, in which people rate, annotate and rank.

A project is a TOML file, its data a database (SQLite, or PostgreSQL by URL). ``create`` fills the database, ``serve``
shows the pages, ``judgements`` returns the ratings. The functions are imported on first use.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plainly_studio.actions import backup, create, export, import_set, invite, judgements, move, serve, status

__all__ = ["backup", "create", "export", "import_set", "invite", "judgements", "move", "serve", "status"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'plainly_studio' has no attribute {name!r}")
    import importlib.util

    from plainly.core.errors import MissingExtra

    for package in ("sqlalchemy", "starlette", "jinja2", "uvicorn"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra("The studio", package=package, extra="studio")
    return getattr(importlib.import_module("plainly_studio.actions"), name)
