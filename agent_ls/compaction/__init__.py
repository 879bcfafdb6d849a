"""The compaction cascade's engine: pydantic-ai messages and numbers in, pydantic-ai messages and numbers out.

No editor, no file, no pygls; only `full` is async, because it alone asks a model (CASCADE, DESIGN §3).
"""
