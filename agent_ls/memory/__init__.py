"""What outlives a session (DESIGN §7): the workspace's instruction files, and MEMORY.md, which sessions add to.

`instructions` reads what is sent to the model; `memory_file`, `store` and `journal` keep MEMORY.md whole whatever
fails; `extract`, `compress` and `write_back` let a model write into it, within what `acceptance` allows.
"""
