"""Training of learned metrics, reproductions of papers, the field site, and experiment grids."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plainly_lab.field_site.build import field
    from plainly_lab.grids import grid
    from plainly_lab.reproductions import reproduce
    from plainly_lab.training.results import train

_PUBLIC = {
    "field": "plainly_lab.field_site.build",
    "grid": "plainly_lab.grids",
    "reproduce": "plainly_lab.reproductions",
    "train": "plainly_lab.training.results",
}
__all__ = ["field", "grid", "reproduce", "train"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'plainly_lab' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_PUBLIC[name]), name)
