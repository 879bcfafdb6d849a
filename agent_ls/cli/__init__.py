"""`agent-ls`: the server, and what a person runs in a terminal. One module a command, imported when it is used."""
