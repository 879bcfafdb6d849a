"""What a person can set (DESIGN §8): the values and their rules, where they come from, how they are published.

Nothing here reads a file of the workspace, so a repository cannot change a setting (FAULTS 52). Keys are no settings:
providers read them from the environment.
"""

from agent_ls.settings.schema import DEFAULT_CONTEXT_WINDOW_TOKENS, LogLevel, PermissionMode, Settings
from agent_ls.settings.sources import Effective, LiveSettings, resolve, user_config_file

__all__ = [
    "DEFAULT_CONTEXT_WINDOW_TOKENS",
    "Effective",
    "LiveSettings",
    "LogLevel",
    "PermissionMode",
    "Settings",
    "resolve",
    "user_config_file",
]
