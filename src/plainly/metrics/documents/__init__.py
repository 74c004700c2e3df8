"""Texts longer than a sentence: which sentences belong together, and what is measured on that."""
