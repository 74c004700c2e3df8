"""Learned metrics that run offline on the small encoder that plainly ships: no download, no torch."""
