"""How logs, memory, approvals, outputs and edits are written: the system behind a port, files whole or not there."""
