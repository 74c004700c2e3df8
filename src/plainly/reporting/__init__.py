"""Findings as one HTML page, figures, and tables for a paper."""
