"""What a session's gauge says: the one measure of the cascade, and what is known besides it (CASCADE §8)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from attrs import define, field
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestParameters

from agent_ls.compaction.context import advice, breakdown
from agent_ls.compaction.gauge import GaugeFacts, context_gauge
from agent_ls.compaction.summary import is_summary
from agent_ls.compactor import Compactor
from agent_ls.log.entries import now
from agent_ls.memory.instructions import Instructions
from agent_ls.protocol import (
    CompactionEvent,
    ContextCategoryId,
    ContextResult,
    Gauge,
    GaugeWarning,
    LastCompaction,
    SessionState,
)
from agent_ls.turn_setup import TurnSetup


@define
class Meter:
    """One session's numbers."""

    compactor: Compactor
    workspace: Path
    setup: TurnSetup
    state: SessionState = "idle"
    _warnings: dict[str, str] = field(init=False, factory=dict)
    _last_micro: LastCompaction | None = field(init=False, default=None)
    _turn_cost: float | None = field(init=False, default=None)
    _turn_input: int = field(init=False, default=0)
    _turn_cached: int = field(init=False, default=0)
    _instructions: int = field(init=False, default=0)
    _tools: int = field(init=False, default=0)

    def take_turn_cost(self) -> float | None:
        """USD of the turn, None if no price is known: it goes into the history's totals, and is no longer here."""
        cost = self._turn_cost
        self._turn_cost, self._turn_input, self._turn_cached = None, 0, 0
        return cost

    def carries(self, parameters: ModelRequestParameters) -> None:
        """What a request carries besides messages: its estimate stands in until a response tells."""
        estimator = self.compactor.measure.estimator
        self._instructions = sum(estimator.text(part.content) for part in parameters.instruction_parts or ())
        self._tools = sum(
            estimator.text(tool.name + (tool.description or "") + json.dumps(tool.parameters_json_schema))
            for tool in parameters.function_tools
        )
        self.compactor.measure.carries(self._instructions + self._tools)

    def responded(self, response: ModelResponse) -> None:
        """A response is in the history: learn from it."""
        history = self.compactor.history
        self.compactor.measure.responded(history.messages, history.first_after_checkpoint)
        self._turn_input += response.usage.input_tokens
        self._turn_cached += response.usage.cache_read_tokens
        model = self.setup.known_model
        if model is not None and (cost := model.cost(response)) is not None:
            self._turn_cost = (self._turn_cost or 0.0) + float(cost)

    def compacted(self, event: CompactionEvent) -> None:
        """A tier ended; the gauge shows the last that landed. Of a full compaction the history has the record."""
        if (
            (event.tier, event.status) == ("micro", "completed")
            and event.before is not None
            and event.after is not None
        ):
            self._last_micro = LastCompaction("micro", event.trigger, event.before, event.after, now().isoformat())

    def warn(self, identifier: str, message: str | None) -> bool:
        """Show a sentence in the gauge, or take it away; True if that changed it."""
        before = self._warnings.get(identifier)
        if message is None:
            self._warnings.pop(identifier, None)
        else:
            self._warnings[identifier] = message
        return before != message

    def gauge(self) -> Gauge:
        """The gauge as it is now."""
        history = self.compactor.history
        self.warn("unsaved", f"Not saved: {history.unsaved_reason}" if history.unsaved_reason else None)
        totals = history.totals
        read = totals.input_tokens + self._turn_input
        cached = totals.cache_read_tokens + self._turn_cached
        cost = None if totals.cost is None and self._turn_cost is None else (totals.cost or 0) + (self._turn_cost or 0)
        facts = GaugeFacts(
            session_id=history.session_id,
            workspace=self.workspace.as_uri(),
            model=self.setup.model_name,
            cost=cost,
            cache_share=cached / read if read else None,
            last_compaction=self._last_compaction(),
            state=self.state,
            warnings=[GaugeWarning(identifier, message) for identifier, message in self._warnings.items()],
        )
        return context_gauge(self.compactor.used, self.compactor.levels(), facts)

    def _last_compaction(self) -> LastCompaction | None:
        """The last tier that landed: an undone one did not, one from before a restart did."""
        record = self.compactor.history.last_compaction
        if record is None:
            return self._last_micro
        full = LastCompaction("full", record.trigger, record.before, record.after, record.at.isoformat())
        return full if self._last_micro is None or self._last_micro.at < full.at else self._last_micro

    def context(self, instructions: Instructions) -> ContextResult:
        """What fills the window; the parts sum to the gauge's number."""
        gauge = self.gauge()
        estimator = self.compactor.measure.estimator
        memory = min(estimator.text(instructions.memory), self._instructions) if self._instructions else 0
        fixed: Mapping[ContextCategoryId, int] = {
            "instructions": self._instructions - memory,
            "tools": self._tools,
            "memory": memory,
        }
        categories = breakdown(self.compactor.history.messages, fixed, gauge.used, estimator, is_summary)
        return ContextResult(
            session_id=gauge.session_id,
            total=gauge.used,
            window=gauge.window,
            categories=categories,
            advice=advice(categories, gauge.window),
            instruction_files=instructions.files,
        )
