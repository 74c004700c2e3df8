"""Decisions about texts: doctor reports on inputs, gate applies rules to many outputs, check looks at one text."""
