"""Which session serves which workspace folder, and what clients ask of sessions (PROTOCOL "Requests").

One session per folder is active at a time; older ones can be listed and resumed (DESIGN §4). A session's log is
made when its first prompt is, so opening an editor leaves no file behind.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from agent_ls import slash_commands
from agent_ls.client import Client
from agent_ls.errors import SessionBusy, SessionNotFound
from agent_ls.log.catalog import delete_session, list_sessions
from agent_ls.log.directory import session_directory
from agent_ls.prompt_content import plain_text
from agent_ls.protocol import (
    CompactParams,
    CompactResult,
    ContextResult,
    DeleteParams,
    MemoryResult,
    PromptParams,
    PromptResult,
    ResumeParams,
    SessionEnded,
    SessionId,
    SessionOpened,
    SessionParams,
    SessionsResult,
    StatusResult,
    SteerParams,
    SteerResult,
    UndoResult,
)
from agent_ls.session import Session
from agent_ls.settings import Effective
