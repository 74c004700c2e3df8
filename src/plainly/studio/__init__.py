"""Run the human evaluation: a small web application in which people rate, annotate and rank.

A project is a TOML file, its data a database (SQLite, or PostgreSQL by URL). ``plainly studio create`` makes the
one from the other, ``plainly studio serve`` shows it. Nothing here is imported before one of them is called.
"""
