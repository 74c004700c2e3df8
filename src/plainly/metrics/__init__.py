"""Metrics computed by counting: SARI, BLEU, chrF, readability, edits, document metrics; and the evidence about each."""
