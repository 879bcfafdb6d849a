"""agent_ls: a coding agent that any LSP editor can host."""

__version__ = "0.1.0"
