"""The state of the field: every public output, scored and compared in one way, as a small site."""
