"""The session log: an append-only JSONL file per session (DESIGN §4, docs/log-format.md).

`entries` are the typed lines, `codec` turns one line into bytes and back, `writer` appends them under a lock,
`replay` rebuilds a session from them, `catalog` lists sessions without loading them.
"""
