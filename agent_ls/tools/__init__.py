"""What the model can do: files, search, commands, plan and recall, behind permission and within bounds (DESIGN §6).

Importing this package imports nothing of pydantic-ai; its modules do.
"""
