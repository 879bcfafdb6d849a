"""Makes room in one session's history: the cascade's decisions carried out (CASCADE §3-§7, §9-§11, §13).

Between the pure engine (`compaction/`), the history (which logs a checkpoint before anything changes) and the model
that writes summaries. No failure here fails a turn, except a request that cannot fit (ContextTooLarge).
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from attrs import define, evolve, field, frozen
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.settings import ModelSettings

from agent_ls.compaction.boundary import Boundary, split_tail
from agent_ls.compaction.cascade import (
    Breaker,
    full_boundary,
    has_something_to_summarize,
    is_quiet,
    prompt_parts,
    shrinks,
    tier_at_turn_end,
)
from agent_ls.compaction.deterministic import deterministic_summary
from agent_ls.compaction.full import Request, SummarizerFailed, summarize_session
from agent_ls.compaction.micro import microcompact
from agent_ls.compaction.occupancy import LARGE_FIXED_SHARE, Budgets, Levels, Measure
from agent_ls.compaction.summary import Summary, carried_in, is_summary, own_parts, summary_message
from agent_ls.errors import AgentError, ContextTooLarge, LogUnwritable
from agent_ls.history import Checkpoint, History
from agent_ls.models import ContextOverflow, Fatal, ResolvedModel, Transient, classify, retry_delays
from agent_ls.protocol import CompactionEvent, CompactionId, CompactOutcome, Tier, Trigger
from agent_ls.settings import Settings
from agent_ls.tokens import Tokens

logger = logging.getLogger(__name__)

_SUMMARY_RETRIES: Final = 2


@frozen
class CompactReport:
    """What a compaction by hand came to (PROTOCOL "agent/compact")."""

    outcome: CompactOutcome
    message: str
    before: Tokens
    after: Tokens | None = None
    reason: str | None = None
    summary: str | None = None


@frozen
class _Compacted:
    before: Tokens
    after: Tokens
    summary: Summary
    prompt_moved: bool
    tail_start: int


@frozen
class _NothingToCompact:
    pass


@frozen
class _Failed:
    reason: str
    saved_too_little: bool = False


_FullOutcome = _Compacted | _NothingToCompact | _Failed


@define
class Compactor:
    """The cascade of one session.

    `summarizer` gives the model that writes summaries, `window` the session's window in tokens, `on_event` sends
    `agent/compaction`, `warn` shows a sentence in the gauge under an id (None takes it away).
    """

    history: History
    measure: Measure
    settings: Callable[[], Settings]
    window: Callable[[], int]
    summarizer: Callable[[], Awaitable[ResolvedModel]]
    on_event: Callable[[CompactionEvent], None]
    warn: Callable[[str, str | None], None]
    learned_window: int | None = field(init=False, default=None)
    _breaker: Breaker = field(init=False, factory=Breaker)
    _said: set[str] = field(init=False, factory=set)

    # --- when -------------------------------------------------------------------------------------------------------

    async def at_turn_end(self) -> None:
        """The cascade at the end of a turn (§3). Raises nothing but CancelledError."""
        if not self.settings().compaction_enabled:
            return
        tier = tier_at_turn_end(self.occupancy, self.levels())
        if tier == "full":
            match await self._full("turnEnd", None):
                case _Failed(reason=reason):
                    logger.info("full compaction fired and did not land: %s", reason)
                case _NothingToCompact():
                    logger.info("full compaction fired and did not land: there is nothing before the recent tail")
        elif tier == "micro" and not self._micro("turnEnd", quiet=True):
            logger.info("microcompaction fired and did not land: too little to free")

    async def before_request(self, turn_start: int) -> int:
        """The guard (§9): make room if the request the history ends in reaches the full level.

        Returns the new index of the turn's prompt. Raises ContextTooLarge if the request would not fit.
        """
        settings = self.settings()
        self._note_fixed_part()
        if not (settings.compaction_enabled and settings.compaction_mid_turn):
            return turn_start
        levels = self.levels()
        if self.projected.count < levels.full:
            self._said.discard("guard")
            return turn_start
        self._micro("guard", quiet=False)
        if self.projected.count < levels.full:
            return turn_start
        turn_start = await self._full_or_without_model("guard", turn_start)
        if (projected := self.projected).count > levels.window:
            raise self._too_large(projected)
        return turn_start

    async def after_overflow(self, turn_start: int, overflow: ContextOverflow) -> int | None:
        """The provider refused the request as too long (§10): the prompt's new index, None if nothing got smaller."""
        before = self.measure.estimator.messages(self.history.messages)
        self._learn_window(overflow)
        self._micro("overflow", quiet=False)
        if self.projected.count >= self.levels().full:
            turn_start = await self._full_or_without_model("overflow", turn_start)
        after = self.measure.estimator.messages(self.history.messages)
        return turn_start if after < before else None

    async def by_hand(self, focus: str | None) -> CompactReport:
        """A full compaction whatever the thresholds say (§7). Cancelling raises, and nothing has changed."""
        before = self.used
        self._breaker.reset()
        match await self._full("manual", None, focus):
            case _Compacted() as done:
                message = f"Compacted: {_words(done.before)} → {_words(done.after)} tokens."
                return CompactReport("compacted", message, done.before, done.after, summary=done.summary.render())
            case _NothingToCompact():
                return CompactReport("nothingToCompact", "There is nothing to compact yet.", before)
            case _Failed(reason=reason):
                message = f"Nothing was changed: {reason} The whole conversation is in {self.history.path}."
                return CompactReport("summarizerFailed", message, before, reason=reason)

    def undo(self) -> tuple[bool, str]:
        """Back to the history before the last checkpoint, if it fits (§13): whether, and a sentence."""
        restored = self.history.preview_undo()
        if restored is None:
            return False, "There is no compaction to undo."
        size = self.measure.fixed.count + self.measure.estimator.messages(restored)
        if size > self.levels().window:
            return False, f"The conversation before it, about {size:,} tokens, does not fit the window any more."
        before = self.used
        self.history.undo_compaction()
        self.measure.replaced()
        return True, f"The last compaction is undone: {_words(before)} → {_words(self.used)} tokens."

    # --- what the session measures ----------------------------------------------------------------------------------

    @property
    def occupancy(self) -> int:
        """Measured tokens since the last checkpoint, 0 if unknown."""
        return self.measure.occupancy(self.history.messages, self.history.first_after_checkpoint)

    @property
    def used(self) -> Tokens:
        """What the gauge shows."""
        return self.measure.used(self.history.messages, self.history.first_after_checkpoint)

    @property
    def projected(self) -> Tokens:
        """What a request with the whole history would occupy."""
        return self.measure.projected(self.history.messages, self.history.first_after_checkpoint)

    def levels(self) -> Levels:
        """The levels in force now: of the window, or of a smaller one the provider taught."""
        settings = self.settings()
        window = min(self.window(), self.learned_window or self.window())
        return Levels.of(
            window,
            micro_reserve=settings.microcompaction_reserve_fraction,
            full_reserve=settings.compaction_reserve_fraction,
        )

    def budgets(self) -> Budgets:
        """The shares of the window in force now."""
        settings = self.settings()
        return Budgets.of(
            self.levels().window,
            self.measure.fixed.count,
            keep_recent=settings.compaction_keep_recent_tokens,
            keep_user=settings.compaction_keep_user_tokens,
        )

    # --- the tiers --------------------------------------------------------------------------------------------------

    def _micro(self, trigger: Trigger, *, quiet: bool) -> bool:
        messages = self.history.messages
        boundary = split_tail(messages, self.budgets().tail, self.measure.estimator)
        result = microcompact(messages, boundary, self.measure.estimator)
        if not result.parts_elided:
            return False
        minimum = self.settings().microcompaction_min_reclaim_fraction
        if quiet and is_quiet(result.tokens_freed, self.levels().window, minimum):
            return False
        before = self.used
        weight = self.measure.estimator.messages(messages)
        self.history.elide(result.messages)
        freed = weight - self.measure.estimator.messages(self.history.messages)
        if freed <= 0:
            return False
        self.measure.blanked(freed)
        event = self._event("micro", trigger, "completed", before)
        self.on_event(evolve(event, after=self.used, parts_elided=result.parts_elided))
        return True

    async def _full_or_without_model(self, trigger: Trigger, turn_start: int) -> int:
        """A full compaction inside a turn; without a model where none can help and the request would not fit."""
        outcome: _FullOutcome = _Failed("automatic compaction is paused after three failures")
        if self._breaker.state(self._size(), self.levels().window) == "closed":
            outcome = await self._full(trigger, turn_start)
        if isinstance(outcome, _Failed):
            self._say_once("guard", f"The window is nearly full and could not be compacted: {outcome.reason}")
            if self.projected.count > self.levels().window or trigger == "overflow" or self.is_paused:
                outcome = await self._full(trigger, turn_start, without_model=True)
        if isinstance(outcome, _Compacted):
            return 0 if outcome.prompt_moved else turn_start - outcome.tail_start + 1
        return turn_start

    @property
    def is_paused(self) -> bool:
        """Whether automatic full compaction is paused."""
        return self._breaker.state(self._size(), self.levels().window) == "open"

    async def _full(
        self, trigger: Trigger, turn_start: int | None, focus: str | None = None, *, without_model: bool = False
    ) -> _FullOutcome:
        automatic = trigger != "manual"
        if automatic and not without_model and self.is_paused:
            return _Failed("automatic compaction is paused after three failures; /compact tries again")
        messages = self.history.messages
        boundary = full_boundary(messages, self.budgets().tail, self.measure.estimator)
        if not has_something_to_summarize(messages, boundary, turn_start):
            return _NothingToCompact()
        event = self._event("full", trigger, "started", self.used)
        self.on_event(event)
        try:
            outcome = await self._compact(event, boundary, turn_start, focus, without_model=without_model)
        except asyncio.CancelledError:
            self.on_event(evolve(event, status="cancelled"))
            raise
        match outcome:
            case _Compacted(before=before, after=after):
                if without_model:
                    self._breaker.shrunk(self._size())
                else:
                    self._breaker.reset()
                self._said.discard("guard")
                self.warn("compaction", None)
                done = evolve(event, status="completed", before=before, after=after, messages_covered=boundary.index)
                self.on_event(evolve(done, summary=outcome.summary.render()))
            case _Failed(reason=reason, saved_too_little=saved_too_little):
                if automatic and not without_model:
                    self._count_failure(saved_too_little)
                self.on_event(evolve(event, status="failed", reason=reason))
        return outcome

    async def _compact(
        self,
        event: CompactionEvent,
        boundary: Boundary,
        turn_start: int | None,
        focus: str | None,
        *,
        without_model: bool,
    ) -> _FullOutcome:
        messages = self.history.messages
        budgets = self.budgets()
        kept_prompt = prompt_parts(messages, turn_start, boundary)
        try:
            older = [self.history.original(index) for index in range(boundary.index)]
        except LogUnwritable as error:
            return _Failed(error.message)
        parts = _PartsOf(older, turn_start if kept_prompt else None)
        carried = carried_in(older[0]).and_then([(message, parts(message)) for message in older])
        previous = _record_in(older[0])
        cost: float | None = None
        if without_model:
            summary = deterministic_summary(older, parts, previous)
        else:
            spent: list[float] = []
            try:
                model = await self.summarizer()
                request = Request(
                    messages=older,
                    parts_of=parts,
                    previous=previous,
                    window=min(model.window or self.window(), self.levels().window),
                    budget=budgets.summary,
                    focus=focus,
                )
                summary = await summarize_session(request, _AskWithRetries(model, spent), self.measure.estimator)
            except SummarizerFailed as failure:
                return _Failed(f"{str(failure)[:1].upper()}{str(failure)[1:]}.")
            except AgentError as error:
                return _Failed(error.message)
            cost = sum(spent) if spent else None
        limit = budgets.summary
        summary = summary.clipped(lambda text: self.measure.estimator.text(text) <= limit)
        text = carried.render(budgets.user_words, self.measure.estimator)
        element = summary_message(summary, carried, text, kept_prompt)  # type: ignore[arg-type]  # request parts
        tail = messages[boundary.index :]
        size_before = self.measure.estimator.messages(messages)
        size_after = self.measure.estimator.messages([element, *tail])
        if not shrinks(size_before, size_after):
            reason = f"It would have saved too little: {size_before:,} → {size_after:,} tokens."
            return _Failed(reason, saved_too_little=True)
        before = self.used
        after = Tokens.estimated(self.measure.fixed.count + size_after)
        try:
            self.history.compact(
                Checkpoint(
                    compaction_id=event.compaction_id,
                    summary=element,
                    tail_start=boundary.index,
                    trigger=event.trigger,
                    before=before,
                    after=after,
                    cost=cost,
                )
            )
        except LogUnwritable as error:
            return _Failed(error.message)
        self.measure.replaced()
        return _Compacted(before, after, summary, bool(kept_prompt), boundary.index)

    # --- notices ----------------------------------------------------------------------------------------------------

    def _count_failure(self, saved_too_little: bool) -> None:
        if saved_too_little:
            self._breaker.rejected(self._size())
        else:
            self._breaker.failed(self._size())
        if self.is_paused:
            self.warn("compaction", "Automatic compaction is paused after failures; /compact tries again.")

    def _note_fixed_part(self) -> None:
        fixed, window = self.measure.fixed.count, self.levels().window
        if fixed > window * LARGE_FIXED_SHARE:
            share = fixed * 100 // window
            self._say_once(
                "fixed",
                f"Instructions and tool definitions take {share} % of the window ({fixed:,} of {window:,} tokens): "
                "shorten AGENTS.md and MEMORY.md, or choose a model with a larger window.",
            )

    def _say_once(self, key: str, message: str) -> None:
        if key not in self._said:
            self._said.add(key)
            self.warn(key, message)
            logger.warning("%s", message)

    def _too_large(self, projected: Tokens) -> ContextTooLarge:
        fixed, window = self.measure.fixed.count, self.levels().window
        return ContextTooLarge(
            f"The next request would take about {projected.count:,} tokens and the window has {window:,}; "
            f"nothing more can be freed ({fixed:,} are instructions and tool definitions).",
            hint="Send a shorter prompt, shorten AGENTS.md and MEMORY.md, or choose a model with a larger window.",
            session_id=self.history.session_id,
        )

    def _learn_window(self, overflow: ContextOverflow) -> None:
        known = self.levels().window
        taught = overflow.limit or (overflow.rejected - 1 if overflow.rejected else None)
        if taught is None:
            taught = int(self.projected.count * 0.95)
        if 0 < taught < known:
            self.learned_window = taught
            self.warn("window", f"The provider takes only {taught:,} tokens: that is this session's window now.")

    def _size(self) -> int:
        return self.measure.estimator.messages(self.history.messages)

    def _event(self, tier: Tier, trigger: Trigger, status: Any, before: Tokens) -> CompactionEvent:
        return CompactionEvent(
            session_id=self.history.session_id,
            compaction_id=CompactionId(secrets.token_hex(8)),
            tier=tier,
            trigger=trigger,
            status=status,
            before=before,
        )


@frozen
class _PartsOf:
    """A message's parts that count as said before: not the summary's own text, not the running turn's prompt."""

    older: Sequence[ModelMessage]
    prompt_at: int | None

    def __call__(self, message: ModelMessage) -> Sequence[Any]:
        if self.prompt_at is not None and message is self.older[self.prompt_at]:
            return ()
        return own_parts(message)


def _record_in(message: ModelMessage) -> str:
    """The skeleton in a previous summary message; what code added after it is carried, not summarised again."""
    if not is_summary(message):
        return ""
    text = str(message.parts[0].content)  # type: ignore[union-attr]  # a summary's first part is a UserPromptPart
    start = text.find("# Conversation summary")
    ends = [
        end
        for title in ("\n\n# What the user said", "\n\n# Files ", "\n\n# Commands run")
        if (end := text.find(title)) > 0
    ]
    return text[start : min(ends, default=len(text))] if start >= 0 else ""


@frozen
class _AskWithRetries:
    """The summariser's requests, transient errors tried again. `spent` collects costs in USD."""

    model: ResolvedModel
    spent: list[float]

    async def __call__(self, messages: list[ModelMessage], max_output: int) -> ModelResponse:
        delays = retry_delays(_SUMMARY_RETRIES)
        while True:
            try:
                settings = ModelSettings(max_tokens=max_output)
                response = await model_request(self.model.model, messages, model_settings=settings)
            except Exception as error:  # whatever a provider or its SDK raises is classified here
                match classify(error):
                    case Transient(error=transient):
                        if (delay := next(delays, None)) is None:
                            raise SummarizerFailed(transient.message) from error
                        await asyncio.sleep(delay)
                    case ContextOverflow(error=too_large):
                        raise SummarizerFailed(too_large.message) from error
                    case Fatal(error=fatal):
                        raise SummarizerFailed(fatal.message) from error
            else:
                if (cost := self.model.cost(response)) is not None:
                    self.spent.append(float(cost))
                return response


def _words(tokens: Tokens) -> str:
    return f"{'' if tokens.is_measured else '~'}{tokens.count:,}"
