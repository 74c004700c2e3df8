"""Rules about wording: packs of rules in Vale's YAML format, ours and other people's, and what they find in prose."""

from plainly.checks.styles.finding import StyleMatch, StyleMatches, find_matches
from plainly.checks.styles.reading import PACKS, Styles, read_styles
from plainly.checks.styles.rules import StyleRule

__all__ = ["PACKS", "StyleMatch", "StyleMatches", "StyleRule", "Styles", "find_matches", "read_styles"]
