"""Stands around every tool call: permission before it, bounds after it, and no failure that ends the run.

Refusals, bad arguments and failures reach the model as failed results. pydantic-ai would count them as retries and
end the run when there are too many; what bounds a turn is its number of requests (DESIGN §5).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attrs import frozen
from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelRetry, ToolFailed, ToolFailedError, ToolRetryError
from pydantic_ai.messages import BinaryContent, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from agent_ls.compaction.estimate import IMAGE_TOKENS
from agent_ls.errors import AgentError
from agent_ls.protocol import TextContent, ToolCall, ToolCallDiff, ToolCallLocation, ToolCallText, ToolCallUpdate
from agent_ls.tools.changes import Impossible, Proposal, propose
from agent_ls.tools.environment import ToolEnvironment
from agent_ls.tools.permissions import Action, Change, Read, Refused, Run
from agent_ls.tools.places import Place
from agent_ls.tools.presentation import describe_call
from agent_ls.tools.readings import content_hash
from agent_ls.tools.result_room import ResultShare

logger = logging.getLogger(__name__)

_PATH_TOOLS = frozenset({"read_file", "list_directory", "search_files", "find_files"})
_CHANGE_TOOLS = frozenset({"write_file", "edit_file"})
_ALTERING_TOOLS = _CHANGE_TOOLS | {"run_command"}


@frozen
class _Prepared:
    """A call that may go ahead: its arguments as they are carried out, and what it is about."""

    arguments: dict[str, Any]
    place: Place | None = None
    proposal: Proposal | None = None


class Gate(AbstractCapability[Any]):
    """See the module."""

    def __init__(self, environment: ToolEnvironment) -> None:
        self._environment = environment
        super().__init__()

    async def prepare_tools(self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        """What alters something runs alone and in the order the model wrote: an edit, then the test of it."""
        return [replace(each, sequential=each.name in _ALTERING_TOOLS) for each in tool_defs]

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """The results of a response's calls share the room that is left."""
        self._environment.result_room.begin_round(len(response.tool_calls))
        return response

    async def wrap_tool_validate(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, handler: Any
    ) -> Any:
        """Arguments that do not fit are a failed result."""
        try:
            return await handler(args)
        except ValidationError as error:
            raise ToolFailed(self._bound(_explained(tool_def, error))) from error

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Any,
    ) -> Any:
        """Ask, carry out, bound. Raises ToolFailed with a sentence for the model for everything that did not work."""
        try:
            prepared = await self._prepare(call, args)
            result = await handler(prepared.arguments)
        except (ToolFailed, ModelRetry, AgentError) as error:
            raise ToolFailed(self._bound(error.message)) from error
        except ToolFailedError as error:
            raise ToolFailed(self._bound(_text_of(error.tool_failed))) from error
        except ToolRetryError as error:
            raise ToolFailed(self._bound(_text_of(error.tool_retry))) from error
        except Exception as error:  # whatever goes wrong in a tool is the model's to work around, not the turn's end
            logger.warning("%s failed", call.tool_name, exc_info=True)
            raise ToolFailed(self._bound(f"{call.tool_name} failed: {str(error) or type(error).__name__}")) from error
        self._note(call, prepared, result)
        return self._bounded(result, ctx)

    # --- before ------------------------------------------------------------------------------------------------------

    async def _prepare(self, call: ToolCallPart, arguments: dict[str, Any]) -> _Prepared:
        if call.tool_name in _CHANGE_TOOLS:
            return await self._prepare_change(call, arguments)
        if call.tool_name in _PATH_TOOLS:
            place = self._environment.places.locate(arguments.get("path", "."))
            await self._permit(Read(place), call, arguments)
            return _Prepared(self._carried_out(arguments, place), place)
        if call.tool_name == "run_command":
            await self._permit(Run(arguments["command"]), call, arguments)
        return _Prepared(arguments)

    async def _prepare_change(self, call: ToolCallPart, arguments: dict[str, Any]) -> _Prepared:
        environment = self._environment
        place = environment.places.locate(arguments["path"])
        refused = environment.permissions.refusal(Change(place))
        if refused is not None:
            raise ToolFailed(refused.reason)
        proposal = propose(call.tool_name, arguments, place.path, environment.documents, environment.readings)
        if isinstance(proposal, Impossible):
            if place.secret or not place.inside:
                # Why it is impossible tells something of the text, so it needs the same permission.
                await self._permit(Change(place), call, arguments)
            raise ToolFailed(f"{environment.places.spell(place.path)} was not changed: {proposal.reason}.")
        diff = ToolCallDiff(str(place.path), proposal.old, proposal.new)
        await self._permit(Change(place), call, arguments, diff)
        if proposal.old is None:
            await environment.documents.make_dir(str(place.path.parent))
        carried_out = self._carried_out(arguments, place) | {"expected_hash": proposal.expected_hash}
        return _Prepared(carried_out, place, proposal)

    def _carried_out(self, arguments: dict[str, Any], place: Place) -> dict[str, Any]:
        """The arguments with the path that was judged, so that a symlink changed meanwhile does not count."""
        return arguments | {"path": self._environment.places.spell(place.path)}

    async def _permit(
        self, action: Action, call: ToolCallPart, arguments: Mapping[str, Any], diff: ToolCallDiff | None = None
    ) -> None:
        # A title may be cut, so a command is also shown as it is: what is approved is what runs.
        command = ToolCallText(TextContent(action.command)) if isinstance(action, Run) else None
        content = [each for each in (diff, command) if each is not None]

        def shown() -> ToolCall:
            title, kind, _ = describe_call(call.tool_name, arguments)
            return ToolCall(
                tool_call_id=self._environment.call_id(call.tool_call_id),
                title=title,
                kind=kind,
                status="pending",
                raw_input=call.args_as_dict(),
                locations=[] if isinstance(action, Run) else [ToolCallLocation(str(action.place.path))],
                content=content or None,
            )

        verdict = await self._environment.permissions.permit(action, shown)
        if isinstance(verdict, Refused):
            raise ToolFailed(verdict.reason)

    # --- after -------------------------------------------------------------------------------------------------------

    def _note(self, call: ToolCallPart, prepared: _Prepared, result: Any) -> None:
        environment, place, proposal = self._environment, prepared.place, prepared.proposal
        if place is None:
            return
        if proposal is not None:
            environment.readings.note(place.path, content_hash(proposal.new))
            diff = ToolCallDiff(str(place.path), proposal.old, proposal.new)
            environment.announce(ToolCallUpdate(environment.call_id(call.tool_call_id), content=[diff]))
        elif call.tool_name == "read_file" and isinstance(result, str):
            environment.readings.note_result(place.path, result)

    def _bounded(self, result: Any, ctx: RunContext[Any]) -> Any:
        share = self._environment.result_room.next_result()
        if isinstance(result, str):
            return self._bounded_text(result, share)
        if isinstance(result, list):
            sees_images = isinstance(ctx.model, Model) and ctx.model.profile.get("supports_image_input", True)
            return [self._bounded_item(item, share, sees_images=sees_images) for item in result]
        return result

    def _bounded_item(self, item: Any, share: ResultShare, *, sees_images: bool) -> Any:
        if isinstance(item, str):
            return self._bounded_text(item, share)
        if not isinstance(item, BinaryContent):
            return item
        if not (sees_images and item.is_image):
            return f"[{item.media_type}, {len(item.data)} bytes: this model cannot be shown it]"
        if share.tokens < IMAGE_TOKENS:
            return f"[{item.media_type}, {len(item.data)} bytes: the window has no room for it beside what else is new]"
        share.take(IMAGE_TOKENS)
        return item

    def _bound(self, text: str) -> str:
        return self._bounded_text(text, self._environment.result_room.next_result())

    def _bounded_text(self, text: str, share: ResultShare) -> str:
        bounded = self._environment.long_outputs.bound(text, share.bounds())
        share.take_text(bounded)
        return bounded


def _text_of(part: Any) -> str:
    if isinstance(part, ToolReturnPart):
        return part.model_response_str(wrap_if_error=False)
    return str(getattr(part, "content", part))


def _explained(tool_def: ToolDefinition, error: ValidationError) -> str:
    """What is wrong with the arguments, one line each, without the values."""
    faults = [
        f"- {'.'.join(str(step) for step in each['loc']) or 'arguments'}: {each['msg']}"
        for each in error.errors(include_url=False, include_input=False)
    ]
    return f"The arguments of {tool_def.name} are not valid; nothing was done.\n" + "\n".join(faults)
