"""Makes room in one session's history: the cascade's decisions carried out (CASCADE §3-§7, §9-§11, §13).

Between the pure engine (`compaction/`), the history (which logs a checkpoint before anything changes) and the model
that writes summaries. No failure here fails a turn, except a request that cannot fit (ContextTooLarge).
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Final

from attrs import Factory, define, evolve, field

from agent_ls.compaction.boundary import recent_tail
from agent_ls.compaction.cascade import (
    Breaker,
    full_boundary,
    has_something_to_summarize,
    is_quiet,
    shrinks,
    tier_at_turn_end,
)
from agent_ls.compaction.deterministic import deterministic_summary
from agent_ls.compaction.full import Request, SummarizerFailed, language_sample, summarize_session
from agent_ls.compaction.micro import microcompact
from agent_ls.compaction.occupancy import LARGE_FIXED_SHARE, Budgets, Levels, Measure
from agent_ls.compaction.older import Older
from agent_ls.compaction.outcome import Compacted, CompactReport, Failed, FullOutcome, NothingToCompact
from agent_ls.compaction.payback import COUNTED_FROM, Offers, Payback
from agent_ls.compaction.round_room import prompt_and_record
from agent_ls.compaction.summary import Summary, record_in
from agent_ls.compaction.taught_window import TaughtWindow
from agent_ls.errors import AgentError, ContextTooLarge, LogUnwritable
from agent_ls.history import Checkpoint, History
from agent_ls.models import ContextOverflow, ResolvedModel
from agent_ls.notices import Notices
from agent_ls.protocol import CompactionEvent, CompactionId, Tier, Trigger
from agent_ls.settings import Settings
from agent_ls.summarizer import Summarizer
from agent_ls.tokens import Tokens

logger = logging.getLogger(__name__)

_PAUSED: Final = "Automatic compaction is paused after failures; /compact tries again."
_INTERNAL: Final = "An internal error; the log says more."


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
    _taught: TaughtWindow = field(init=False, factory=TaughtWindow)
    _breaker: Breaker = field(init=False, factory=Breaker)
    _payback: Payback = field(init=False, factory=Payback)
    _notices: Notices = field(init=False, default=Factory(lambda self: Notices(self.warn), takes_self=True))

    # --- when -------------------------------------------------------------------------------------------------------

    async def at_turn_end(self) -> None:
        """The cascade at the end of a turn (§3). Raises nothing but CancelledError."""
        if not self.settings().compaction_enabled:
            return
        try:
            reason = await self._at_turn_end()
        except Exception:
            # The turn is complete and its answer stands: no failure here fails it (§3).
            logger.exception("compaction at the end of a turn failed; the history is as it was")
        else:
            if reason is not None:
                logger.info("%s", reason)

    async def before_request(self, turn_start: int) -> int:
        """The guard (§9): make room if the request the history ends in reaches the full level, or if it pays (ADR 10).

        Returns the new index of the turn's prompt. Raises ContextTooLarge if the request would not fit.
        """
        settings = self.settings()
        self._note_fixed_part()
        if not (settings.compaction_enabled and settings.compaction_mid_turn):
            return turn_start
        if self.projected.count < self.levels().full:
            self._notices.take_back("guard")
            return await self._if_it_pays(turn_start)
        # One that leaves it above the micro level would be followed by a summary soon: two cache breaks (ADR 10).
        self._micro("guard", quiet=True, under=None if self.is_paused else self.levels().micro)
        if self.projected.count >= self.levels().full:
            turn_start = await self._full_or_without_model("guard", turn_start)
        if self.projected.count > self.levels().window:
            self._micro("guard", quiet=False)
        if (projected := self.projected).count > (window := self.levels().window):
            raise self._too_large(projected, window, turn_start)
        return turn_start

    async def after_overflow(self, turn_start: int, overflow: ContextOverflow) -> int | None:
        """The provider refused the request as too long (§10): the prompt's new index, None if nothing got smaller."""
        sent = self.projected.count
        if overflow.rejected is not None:
            self.measure.estimator.observe(self.history.messages, overflow.rejected - self.measure.fixed.count)
        self._learn_window(overflow, sent)
        before = self._size()
        freed = self._micro("overflow", quiet=False)
        if not freed or self.projected.count >= self.levels().full:
            turn_start = await self._full_or_without_model("overflow", turn_start)
        return turn_start if self._size() < before else None

    def after_resume(self) -> None:
        """A resumed history is in full: what was blanked before is blanked again if it takes that much room (§5)."""
        if self.settings().compaction_enabled and self.used.count >= self.levels().micro:
            self._micro("guard", quiet=False)

    async def by_hand(self, focus: str | None) -> CompactReport:
        """A full compaction whatever the thresholds say (§7). Cancelling raises, and nothing has changed."""
        used = self.used
        return CompactReport.of(await self._full("manual", None, focus), used, str(self.history.path))

    def undo(self) -> tuple[bool, str]:
        """Back to the history before the last checkpoint, if it fits (§13): whether, and a sentence."""
        undo = self.history.prepare_undo()
        if undo is None:
            return False, "There is no compaction to undo."
        restored, estimator = undo.messages, self.measure.estimator
        blanked = microcompact(restored, recent_tail(restored, self.budgets().tail, estimator), estimator)
        size = self.measure.fixed.count + estimator.messages(blanked.messages)
        if size > self.levels().window:
            return False, f"The conversation before it, about {size:,} tokens, does not fit the window any more."
        before = self.used
        self.history.undo_compaction(undo)
        self.measure.restored()
        self._payback.begins_anew("full")
        if self.projected.count >= self.levels().micro:
            self._micro("manual", quiet=False)
        return True, f"The last compaction is undone: {before.in_words} → {self.used.in_words} tokens."

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
        """The levels in force now: of the window, or of a smaller one the provider taught while it was the same."""
        settings = self.settings()
        return Levels.of(
            self._taught.of(self.window()),
            micro_reserve=settings.microcompaction_reserve_fraction,
            full_reserve=settings.compaction_reserve_fraction,
        )

    def budgets(self) -> Budgets:
        """The shares of the window in force now."""
        settings = self.settings()
        keep_recent, keep_user = settings.compaction_keep_recent_tokens, settings.compaction_keep_user_tokens
        return Budgets.of(self.levels().window, self.measure.fixed.count, keep_recent=keep_recent, keep_user=keep_user)

    @property
    def is_paused(self) -> bool:
        """Whether automatic full compaction is paused."""
        return self._breaker.state(self._size(), self.levels().window) == "open"

    # --- the tiers --------------------------------------------------------------------------------------------------

    async def _at_turn_end(self) -> str | None:
        """Run the tier that fires; why it did not land, if one fired and did not."""
        tier = tier_at_turn_end(self.occupancy, self.levels())
        if tier == "micro" and not self._micro("turnEnd", quiet=True):
            return "microcompaction fired and did not land: too little to free"
        if tier == "full":
            match await self._full("turnEnd", None):
                case Failed(reason=reason):
                    return f"full compaction fired and did not land: {reason}"
                case NothingToCompact():
                    return "full compaction fired and did not land: there is too little before the recent tail"
        return None

    def _micro(self, trigger: Trigger, *, quiet: bool, under: int | None = None) -> bool:
        """Blank what is before the tail, if that frees what is worth it (`quiet`, §13) and gets `under` a number."""
        messages = self.history.messages
        boundary = recent_tail(messages, self.budgets().tail, self.measure.estimator)
        result = microcompact(messages, boundary, self.measure.estimator)
        if not result.parts_elided:
            return False
        least = self.settings().microcompaction_min_reclaim_fraction
        if quiet and is_quiet(result.tokens_freed, self.levels().window, least):
            return False
        if under is not None and self.projected.count - result.tokens_freed >= under:
            return False
        before = self.used
        weight = self._size()
        self.history.elide(result.messages)
        if (freed := weight - self._size()) <= 0:
            return False
        self.measure.blanked(freed)
        self._payback.begins_anew("micro")
        event = evolve(self._event("micro", trigger, before), status="completed", parts_elided=result.parts_elided)
        self.on_event(evolve(event, after=self.used))
        return True

    async def _full_or_without_model(self, trigger: Trigger, turn_start: int) -> int:
        """A full compaction inside a turn, without a model where none can help; the new index of the turn's prompt."""
        outcome = await self._full(trigger, turn_start)
        if not isinstance(outcome, Compacted):
            self._micro(trigger, quiet=True)
        if isinstance(outcome, NothingToCompact):
            self._notices.once("guard", "The window is nearly full, and little but the newest messages is left in it.")
        if isinstance(outcome, Failed):
            self._notices.once("guard", f"The window is nearly full and could not be compacted: {outcome.reason}")
            if self.projected.count > self.levels().window or trigger == "overflow" or self.is_paused:
                outcome = await self._full(trigger, turn_start, without_model=True)
        return outcome.prompt_at(turn_start) if isinstance(outcome, Compacted) else turn_start

    async def _if_it_pays(self, turn_start: int) -> int:
        """From the micro level on: the tier that has paid for itself, if one has. Returns the prompt's new index."""
        size, micro = self.projected.count, self.levels().micro
        if size < micro * COUNTED_FROM:
            return turn_start
        offers = Offers.of(self.history.messages, self.budgets(), self.measure.estimator, turn_start)
        tier = self._payback.carried(offers)
        if tier is None or size < micro:
            return turn_start
        self._payback.begins_anew(tier)
        if tier == "micro":
            self._micro("guard", quiet=True)
            return turn_start
        outcome = await self._full("guard", turn_start)
        return outcome.prompt_at(turn_start) if isinstance(outcome, Compacted) else turn_start

    async def _full(
        self, trigger: Trigger, turn_start: int | None, focus: str | None = None, *, without_model: bool = False
    ) -> FullOutcome:
        automatic = trigger != "manual"
        if automatic and not without_model and self.is_paused:
            return Failed(_PAUSED)
        messages = self.history.messages
        budgets = self.budgets()
        boundary = full_boundary(messages, budgets.tail, budgets.usable // 2, self.measure.estimator, turn_start)
        if not has_something_to_summarize(messages, boundary, turn_start):
            return NothingToCompact()
        try:
            originals = [self.history.original(index) for index in range(boundary.index)]
        except LogUnwritable as error:
            return Failed(error.message)
        older = Older(originals, turn_start if turn_start is not None and turn_start < boundary.index else None)
        # What an empty summary cannot shrink, no summary can: no turn waits for one.
        if turn_start is not None and not shrinks(self._size(), self._size_with(older, Summary({}))):
            return NothingToCompact()
        # Inside a turn the request that is due counts, as it does in what comes after.
        event = self._event("full", trigger, self.used if turn_start is None else self.projected)
        self.on_event(event)
        try:
            outcome = await self._compact(event, older, focus, without_model=without_model)
        except asyncio.CancelledError:
            self.on_event(evolve(event, status="cancelled"))
            raise
        except Exception:
            # A bug of ours: it is told where it is caught, and whoever saw the start sees an end.
            self.on_event(evolve(event, status="failed", reason=_INTERNAL))
            raise
        if isinstance(outcome, Failed):
            if automatic and not without_model:
                self._count_failure(outcome)
            self.on_event(evolve(event, status="failed", reason=outcome.reason))
            return outcome
        if without_model:
            self._breaker.shrunk(self._size())
        else:
            self._breaker.reset()
            self._notices.take_back("compaction")
        self._notices.take_back("guard")
        self.on_event(outcome.ends(event))
        return outcome

    async def _compact(
        self, event: CompactionEvent, older: Older, focus: str | None, *, without_model: bool
    ) -> Compacted | Failed:
        budgets, estimator = self.budgets(), self.measure.estimator
        cost: float | None = None
        if without_model:
            summary = deterministic_summary(older.messages, older.parts_of, older.previous)
        else:
            try:
                model = await self.summarizer()
                ask = Summarizer(model)
                request = Request(
                    messages=older.messages,
                    parts_of=older.parts_of,
                    previous=older.previous,
                    window=min(model.window or self.window(), self.levels().window),
                    budget=budgets.summary,
                    language=language_sample(self.history.messages),
                    focus=focus,
                )
                summary = await summarize_session(request, ask, estimator)
            except SummarizerFailed as failure:
                return Failed(failure.sentence)
            except AgentError as error:
                return Failed(error.message)
            cost = ask.cost
        element = older.summary_message(summary, budgets, estimator)
        before, size_before = event.before or self.used, self._size()
        tail_start = len(older.messages)
        size_after = estimator.messages([element, *self.history.messages[tail_start:]])
        if not shrinks(size_before, size_after):
            reason = f"It would have saved too little: {size_before:,} → {size_after:,} tokens."
            return Failed(reason, saved_too_little=True)
        after = Tokens.estimated(self.measure.fixed.count + size_after)
        try:
            self.history.compact(
                Checkpoint(
                    compaction_id=event.compaction_id,
                    summary=element,
                    tail_start=tail_start,
                    trigger=event.trigger,
                    before=before,
                    after=after,
                    cost=cost,
                )
            )
        except LogUnwritable as error:
            return Failed(error.message)
        self.measure.replaced()
        self._payback.begins_anew("full")
        return Compacted(before, after, record_in(element) or summary, bool(older.prompt), tail_start, cost)

    # --- notices ----------------------------------------------------------------------------------------------------

    def _count_failure(self, failure: Failed) -> None:
        if failure.saved_too_little:
            self._breaker.rejected(self._size())
        else:
            self._breaker.failed(self._size())
        if self.is_paused:
            self._notices.once("compaction", _PAUSED)

    def _note_fixed_part(self) -> None:
        fixed, window = self.measure.fixed.count, self.levels().window
        if fixed > window * LARGE_FIXED_SHARE:
            share = fixed * 100 // window
            self._notices.once(
                "fixed",
                f"Instructions and tool definitions take {share} % of the window ({fixed:,} of {window:,} tokens): "
                "shorten AGENTS.md and MEMORY.md, or choose a model with a larger window.",
            )
        else:
            self._notices.take_back("fixed")

    def _too_large(self, projected: Tokens, window: int, turn_start: int) -> ContextTooLarge:
        prompt, _ = prompt_and_record(self.history.messages[turn_start], self.measure.estimator)
        return ContextTooLarge(
            f"The next request would take about {projected.count:,} tokens and the window has {window:,}; nothing more "
            f"can be freed (instructions and tool definitions: {self.measure.fixed.count:,}, the prompt: {prompt:,}).",
            hint="Send a shorter prompt, shorten AGENTS.md and MEMORY.md, or choose a model with a larger window.",
            session_id=self.history.session_id,
        )

    def _learn_window(self, overflow: ContextOverflow, sent: int) -> None:
        taught = self._taught.learn(self.window(), sent, limit=overflow.limit, rejected=overflow.rejected)
        if taught is not None:
            takes = f"The provider takes only {taught:,} tokens"
            self._notices.anew("window", f"{takes}: that is this session's window now.")

    # --- in short ---------------------------------------------------------------------------------------------------

    def _size(self) -> int:
        """Estimated tokens of the history, without the fixed part."""
        return self.measure.estimator.messages(self.history.messages)

    def _size_with(self, older: Older, summary: Summary) -> int:
        """The same of the history as it would be with this summary in place of what is older."""
        element = older.summary_message(summary, self.budgets(), self.measure.estimator)
        return self.measure.estimator.messages([element, *self.history.messages[len(older.messages) :]])

    def _event(self, tier: Tier, trigger: Trigger, before: Tokens) -> CompactionEvent:
        compaction_id = CompactionId(secrets.token_hex(8))
        return CompactionEvent(self.history.session_id, compaction_id, tier, trigger, "started", before)
