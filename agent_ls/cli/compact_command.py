"""`agent-ls compact`: a full compaction of a session on disk, as `/compact` does it in an editor (CASCADE §7)."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import TYPE_CHECKING

from attrs import evolve

from agent_ls.cli.stored_sessions import add_session, chosen_log
from agent_ls.settings import DEFAULT_CONTEXT_WINDOW_TOKENS, LiveSettings, Settings
from agent_ls.tokens import Tokens

if TYPE_CHECKING:
    from agent_ls.compaction.outcome import CompactReport
    from agent_ls.history import History


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to compact, and settings for this once."""
    add_session(parser)
    parser.add_argument("--focus", metavar="TEXT", help="what the summary should pay attention to")
    parser.add_argument("--window", type=int, metavar="N", help="the model's window in tokens, instead of the setting")
    parser.add_argument("--keep", type=int, metavar="N", help="tokens of recent messages to keep verbatim")
    parser.add_argument("--model", metavar="NAME", help="the model that writes the summary")
    parser.add_argument("--json", action="store_true", help="print the outcome as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Compact and tell the outcome; exit status 1 if the summariser failed, and then nothing has changed.

    Raises SessionLocked while a server has the session open, SettingsInvalid for a bad number.
    """
    settings = _settings(arguments)
    path = chosen_log(arguments)
    # pydantic_ai is imported once the arguments are known to be good.
    from agent_ls.history import History

    history = History.resume(path)
    try:
        report = asyncio.run(_compact(history, settings, arguments.focus))
    finally:
        history.close()
    print(_as_json(history, report) if arguments.json else _as_text(report))
    return 1 if report.outcome == "summarizerFailed" else 0


def _settings(arguments: argparse.Namespace) -> Settings:
    effective = LiveSettings.of_this_process().effective
    for message in effective.messages:
        print(f"agent-ls compact: {message}", file=sys.stderr)
    given = {
        "compaction_context_window_tokens": arguments.window,
        "compaction_keep_recent_tokens": arguments.keep,
        "compaction_model": arguments.model,
    }
    return evolve(effective.settings, **{name: value for name, value in given.items() if value is not None})


async def _compact(history: History, settings: Settings, focus: str | None) -> CompactReport:
    from agent_ls.compaction.occupancy import Measure
    from agent_ls.compactor import Compactor
    from agent_ls.models import ResolvedModel, resolve_model

    window = settings.compaction_context_window_tokens
    model = resolve_model(settings.compaction_model or settings.model, window=window)

    async def summarizer() -> ResolvedModel:
        return model

    compactor = Compactor(
        history=history,
        measure=Measure(),
        settings=lambda: settings,
        window=lambda: window or min(DEFAULT_CONTEXT_WINDOW_TOKENS, model.window or DEFAULT_CONTEXT_WINDOW_TOKENS),
        summarizer=summarizer,
        on_event=lambda _event: None,
        warn=lambda _identifier, _message: None,
    )
    compactor.measure.resumed(history.messages, history.first_after_checkpoint)
    try:
        return await compactor.by_hand(focus)
    finally:
        await model.aclose()


def _as_text(report: CompactReport) -> str:
    return report.message if report.summary is None else f"{report.message}\n\n{report.summary}"


def _as_json(history: History, report: CompactReport) -> str:
    return json.dumps(
        {
            "sessionId": history.session_id,
            "outcome": report.outcome,
            "message": report.message,
            "reason": report.reason,
            "before": _tokens(report.before),
            "after": None if report.after is None else _tokens(report.after),
            "messages": len(history.messages),
            "summary": report.summary,
        },
        ensure_ascii=False,
    )


def _tokens(tokens: Tokens) -> dict[str, object]:
    return {"count": tokens.count, "basis": tokens.basis}
