"""Published learned metrics on their own published weights; they need torch and the weights.

A hub name is looked up in the local cache and, where there is a network, fetched by transformers; a directory is read
as it is. Batches are sorted by length and each distinct text or pair is scored once.
"""
