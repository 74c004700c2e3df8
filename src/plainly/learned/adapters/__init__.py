"""Published learned metrics on their own published weights; they need torch and the weights.

A directory is read as it is; a hub name is looked up on this machine and, where there is a network, downloaded (hub).
Batches are sorted by length and each distinct text or pair is scored once.
"""
