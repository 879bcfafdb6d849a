"""pydantic-ai-harness's compaction, driven by its own hook before each request, as an agent run drives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import define, field
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ToolCallPart
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RunUsage
from pydantic_ai_harness.compaction import (
    ClearToolResults,
    DeduplicateFileReads,
    SlidingWindowCompaction,
    SummarizingCompaction,
    TieredCompaction,
)

from benchmarks.policies.policy import Plain, Setting

Capability = AbstractCapability[Any]


@define
class Harness(Plain):
    """A capability of the harness that edits the history before a request."""

    make: Callable[[Setting], Capability]
    _capability: Capability = field(init=False)
    failures: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self._capability = self.make(self.setting)

    async def before_request(self) -> Sequence[ModelMessage]:
        """What the capability leaves. A summary call that fails ends a real run; here the request is sent as it is."""
        model = self.setting.summarizer.model
        context: RunContext[Any] = RunContext(deps=None, model=model, usage=RunUsage(), messages=self.messages)
        request = ModelRequestContext(
            model=model,
            messages=list(self.messages),
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        try:
            await self._capability.before_model_request(context, request)
        except (ModelAPIError, UnexpectedModelBehavior):
            self.failures += 1
        return list(self.messages)


def tiered_keeping_user_messages(
    setting: Setting, *, target: float = 0.6, keep_pairs: int = 10, keep_share: float = 0.3
) -> Capability:
    """Old results cleared, then a summary with the user's messages kept: the harness at its best."""
    return TieredCompaction(
        tiers=[
            ClearToolResults(max_tokens=1, keep_pairs=keep_pairs),
            SummarizingCompaction(
                model=_model(setting),
                max_messages=1,
                keep_messages=200,
                keep_tokens=int(setting.window * keep_share),
                keep_user_messages=True,
            ),
        ],
        target_fraction=target,
        context_window=setting.window,
    )


def tiered_as_shipped(setting: Setting) -> Capability:
    """As the harness's README has it; its target of 120,000 is 60 % of a window of 200,000."""
    return TieredCompaction(
        tiers=[
            DeduplicateFileReads(file_key=_file_key),
            ClearToolResults(max_tokens=1, keep_pairs=3),
            SummarizingCompaction(model=_model(setting), max_messages=1, keep_messages=20),
        ],
        target_fraction=0.6,
        context_window=setting.window,
    )


def clear_tool_results(setting: Setting) -> Capability:
    """Old results cleared, three pairs kept."""
    return ClearToolResults(max_fraction=0.6, context_window=setting.window)


def summarizing(setting: Setting) -> Capability:
    """A summary at 80 % of the window, 20 messages kept."""
    return SummarizingCompaction(model=_model(setting), max_fraction=0.8, context_window=setting.window)


def sliding_window(setting: Setting) -> Capability:
    """All but the first prompt and the newest 40 messages dropped at 80 % of the window."""
    return SlidingWindowCompaction(max_fraction=0.8, context_window=setting.window)


def _model(setting: Setting) -> FunctionModel:
    return setting.summarizer.model


def _file_key(call: ToolCallPart) -> str | None:
    path = call.args_as_dict().get("file_path") or call.args_as_dict().get("path")
    return str(path) if path and "read" in call.tool_name.casefold() else None
