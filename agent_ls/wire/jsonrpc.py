"""pygls' protocol with the gaps closed: every request is answered exactly once, whatever it holds.

Stock pygls 2.1 never answers a request whose params do not structure, drops requests after shutdown, sends tracebacks
to the client and mistakes a nested key "jsonrpc" for a message (measured; docs/adr/0006-hardened-wire.md).
Methods of our own are registered with `serve`: their params stay plain JSON until the handler's type is applied here.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final

from attrs import field, frozen
from cattrs import transform_error
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage
from pygls.protocol.language_server import lsp_method

from agent_ls.cancellation import cancel_once
from agent_ls.protocol import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    SERVER_NOT_INITIALIZED,
    command_of,
    server_abilities,
)
from agent_ls.wire.commands import request_of
from agent_ls.wire.converter import BadParams, structure, unstructure
from agent_ls.wire.documents import DocumentSync
from agent_ls.wire.failures import Failure, failure_of
from agent_ls.wire.framing import MAX_BODY_BYTES
from agent_ls.wire.messages import decoded, is_request, usable_id
from agent_ls.wire.outbox import Outbox, framed
from agent_ls.wire.parent import watchable

if TYPE_CHECKING:
    from cattrs import Converter
    from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)

_CANCELLED: Final = Failure(REQUEST_CANCELLED, "the request was cancelled")

Handler = Callable[[Any], Awaitable[Any]]


class Unanswered(Exception):
    """The connection ended before the client answered."""


@frozen
class _Method:
    params: type[Any]
    handler: Handler


@frozen
class _InFlight:
    """A request that is owed its answer. `task` is our own handler's; pygls' handlers are not cancelled."""

    task: asyncio.Task[Any] | None = field(default=None)


class AgentProtocol(DocumentSync):
    """The protocol of one connection. `on_exit` is called for the notification `exit`.

    A cancelled handler has `cancel_seconds` to answer by itself; then the request is answered for it.
    """

    cancel_seconds = 5.0
    outbox: Outbox | None = None
    on_exit: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.shutdown_requested = False
        self.client_process: int | None = None
        self._initialize_seen = False
        self._left = False
        self._methods: dict[str, _Method] = {}
        self._notifications: dict[str, _Method] = {}
        self._in_flight: dict[str | int, _InFlight] = {}
        self._notification_tasks: set[asyncio.Future[Any]] = set()

    def serve(self, method: str, params: type[Any], handler: Handler) -> None:
        """Answer requests of `method`, and of `workspace/executeCommand` under its command name."""
        self._methods[method] = _Method(params, handler)

    def serve_notification(self, method: str, params: type[Any], handler: Handler) -> None:
        """Take notifications of `method`."""
        self._notifications[method] = _Method(params, handler)

    # --- what comes in ------------------------------------------------------------------------------------------------

    def handle_body(self, data: bytes) -> None:
        """One message's bytes from the client."""
        try:
            message = decoded(data)
        except (ValueError, RecursionError) as error:
            self._send_error(None, Failure(PARSE_ERROR, f"Parse error: {error}"))
            return
        self.handle_message(message)

    def refuse_too_large(self, length: int) -> None:
        """A message above the cap was skipped."""
        refused = f"a message of {length} bytes is above the limit of {MAX_BODY_BYTES}"
        self._send_error(None, Failure(INVALID_REQUEST, refused))

    def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
        """Identity: pygls calls it for every nested object."""
        return data

    def handle_message(self, message: Any) -> None:
        """Judge one JSON value and pass it on; answer what cannot be passed on."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            identifier = message.get("id") if isinstance(message, dict) else None
            refused = Failure(INVALID_REQUEST, "not a JSON-RPC 2.0 message object")
            self._send_error(usable_id(identifier), refused)
            return
        method = message.get("method")
        if method is None:
            self._take_response(message)
        elif not isinstance(method, str):
            refused = Failure(INVALID_REQUEST, "`method` must be a string")
            self._send_error(usable_id(message.get("id")), refused)
        elif "id" in message:
            self._take_request(message["id"], method, message.get("params"))
        else:
            self._take_notification(method, message.get("params"))

    def _take_request(self, identifier: Any, method: str, params: Any) -> None:
        refused = self._refusal(identifier, method)
        if refused is not None:
            self._send_error(usable_id(identifier), refused)
            return
        self._in_flight[identifier] = _InFlight()
        if method == types.WORKSPACE_EXECUTE_COMMAND:
            try:
                method, params = request_of(params, self._methods)
            except BadParams as bad:
                self._respond_error(identifier, failure_of(bad))
                return
        own = self._methods.get(method)
        if own is not None:
            self._run(identifier, own, params)
        else:
            self._take_lsp_request(identifier, method, params)

    def _refusal(self, identifier: Any, method: str) -> Failure | None:
        """Why the connection's state forbids a request."""
        if usable_id(identifier) is None:
            return Failure(INVALID_REQUEST, "`id` must be a string or an integer")
        if self.shutdown_requested:
            return Failure(INVALID_REQUEST, "the server is shutting down")
        if method == types.INITIALIZE and self._initialize_seen:
            return Failure(INVALID_REQUEST, "initialize was sent before")
        if method != types.INITIALIZE and not self._initialize_seen:
            return Failure(SERVER_NOT_INITIALIZED, f"{method} before initialize")
        if identifier in self._in_flight:
            return Failure(INVALID_REQUEST, f"a request with the id {identifier!r} is being answered")
        return None

    def _take_lsp_request(self, identifier: str | int, method: str, params: Any) -> None:
        known = method in self.fm.builtin_features or method in self.fm.features
        if not known or not is_request(method):
            self._respond_error(identifier, Failure(METHOD_NOT_FOUND, f"unknown request {method!r}"))
            return
        typed = self._typed({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}, identifier)
        if typed is None:
            return
        self._initialize_seen |= method == types.INITIALIZE
        self.shutdown_requested |= method == types.SHUTDOWN
        super().handle_message(typed)

    def _take_notification(self, method: str, params: Any) -> None:
        if method == types.EXIT:
            self.on_exit()
        elif method == types.CANCEL_REQUEST:
            if isinstance(params, dict) and (identifier := usable_id(params.get("id"))) is not None:
                self._cancel(identifier)
        elif not self._initialize_seen or self.shutdown_requested:
            logger.debug("%s is ignored: the server is not running", method)
        elif (own := self._notifications.get(method)) is not None:
            self._run_notification(method, own, params)
        elif method in self.fm.builtin_features or method in self.fm.features:
            message = self._typed({"jsonrpc": "2.0", "method": method, "params": params}, None)
            if message is not None:
                super().handle_message(message)

    def _take_response(self, message: dict[str, Any]) -> None:
        identifier = usable_id(message.get("id"))
        if identifier in self._in_flight:  # a request of the client's own: pygls keeps both directions in one table
            identifier = None
        future = self._request_futures.pop(identifier, None) if identifier is not None else None
        expected = self._result_types.pop(identifier, None) if identifier is not None else None
        if future is None or future.done():
            # Answered twice, or after the request was given up (pygls #621).
            logger.debug("nobody waits for the response to %r", message.get("id"))
        elif "error" in message:
            error = message["error"] if isinstance(message["error"], dict) else {}
            code = error.get("code")
            code = code if isinstance(code, int) else INTERNAL_ERROR
            future.set_exception(JsonRpcException(str(error.get("message", "")), code, error.get("data")))
        else:
            try:
                plain = JsonRPCResponseMessage(identifier or 0, "2.0", message.get("result"))
                typed = self._converter.structure(message, expected) if expected is not None else plain
            except Exception as error:  # noqa: BLE001  # cattrs raises many kinds; all mean that the answer is none
                future.set_exception(JsonRpcInvalidParams(str(error)))
            else:
                future.set_result(typed.result)

    def _typed(self, message: dict[str, Any], identifier: str | int | None) -> Any:
        """An LSP message in lsprotocol's type; None if it does not fit, which a request is told."""
        cls = self.get_message_type(message["method"])
        if cls is None:
            return (JsonRPCNotification if identifier is None else JsonRPCRequestMessage)(**message)
        try:
            return self._converter.structure(message, cls)
        except Exception as error:  # noqa: BLE001  # cattrs raises many kinds; all mean bad params
            problems = [problem.replace("$.params", "$") for problem in transform_error(error)]
            if identifier is None:
                logger.warning("%s is ignored: %s", message["method"], "; ".join(problems))
            else:
                self._respond_error(identifier, Failure.bad_params(problems))
            return None

    # --- running our own ----------------------------------------------------------------------------------------------

    def _run(self, identifier: str | int, method: _Method, params: Any) -> None:
        try:
            typed = structure(params, method.params)
        except BadParams as bad:
            self._respond_error(identifier, failure_of(bad))
            return
        task = asyncio.ensure_future(_handled(method.handler, typed))
        self._in_flight[identifier] = _InFlight(task)
        task.add_done_callback(lambda done: self._finished(done, identifier))

    def _run_notification(self, name: str, method: _Method, params: Any) -> None:
        try:
            typed = structure(params, method.params)
        except BadParams as bad:
            logger.warning("%s is ignored: %s", name, bad)
            return
        task = asyncio.ensure_future(_handled(method.handler, typed))
        self._notification_tasks.add(task)
        task.add_done_callback(self._notification_tasks.discard)
        task.add_done_callback(self._check_handler_result)

    def _cancel(self, identifier: str | int) -> None:
        """Cancel our own handler. It may still answer by itself: a cancelled prompt has a result."""
        task = self._in_flight.get(identifier, _InFlight()).task
        if task is not None and not task.done():
            loop = asyncio.get_running_loop()
            # Not at once: a task that has not begun would end without having run, and could not answer by itself.
            loop.call_soon(cancel_once, task)
            loop.call_later(self.cancel_seconds, self._respond_error, identifier, _CANCELLED, task)

    # --- what goes out ------------------------------------------------------------------------------------------------

    async def ask(self, method: str, params: Any) -> Any:
        """The client's answer to a request of the server. Without a time limit: a person may be asked.

        `params` is a type of lsprotocol or plain JSON; so is the answer. Raises JsonRpcException for an error response
        and Unanswered when the connection ends. Cancelling tells the client (`$/cancelRequest`).
        """
        if self._left:
            raise Unanswered
        identifier = str(uuid.uuid4())
        future = self.send_request(method, params, msg_id=identifier)
        waiting = asyncio.wrap_future(future)
        try:
            await asyncio.wait({waiting})
        except asyncio.CancelledError:
            self._request_futures.pop(identifier, None)
            waiting.cancel()
            self.notify(types.CANCEL_REQUEST, types.CancelParams(identifier))
            raise
        if waiting.cancelled():
            raise Unanswered
        return waiting.result()

    def leave(self) -> None:
        """The client is gone: nothing that was asked is waited for."""
        self._left = True
        for future in list(self._request_futures.values()):  # one that is cancelled takes itself out
            future.cancel()

    def _finished(self, task: asyncio.Task[Any], identifier: str | int) -> None:
        """Our own handler is done."""
        if task.cancelled():
            self._respond_error(identifier, _CANCELLED, task)
        elif (error := task.exception()) is not None:
            self._respond_error(identifier, self._failure(identifier, error), task)
        else:
            self._respond(identifier, task.result(), task)

    def _send_handler_result(self, future: Future[Any], *, msg_id: Any) -> None:
        """pygls' handler is done."""
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            self._respond_error(msg_id, _CANCELLED)
        elif (error := future.exception()) is not None:
            self._respond_error(msg_id, self._failure(msg_id, error))
        else:
            self._respond(msg_id, future.result())

    def _failure(self, identifier: str | int, error: BaseException) -> Failure:
        failure = failure_of(error)
        if failure.is_bug:
            logger.error("a bug in the handler of request %r", identifier, exc_info=error)
        return failure

    def _send_response(self, msg_id: Any, result: Any = None, error: types.ResponseError | None = None) -> None:
        # pygls' way to answer when there is no handler's future.
        if error is None:
            self._respond(msg_id, result)
        else:
            self._respond_error(msg_id, Failure(error.code, error.message))

    def _respond(self, identifier: str | int, result: Any, task: asyncio.Task[Any] | None = None) -> None:
        if self._settle(identifier, task):
            try:
                # pygls' own results are lsprotocol's types, which its converter writes.
                wire = result if task is None else unstructure(result)
                self._send_data({"jsonrpc": "2.0", "id": identifier, "result": wire})
            except (TypeError, ValueError, RecursionError, AttributeError) as error:
                logger.error("the result of request %r cannot be written as JSON", identifier, exc_info=error)
                self._send_error(identifier, Failure(INTERNAL_ERROR, "unserialisable result"))

    def _respond_error(self, identifier: str | int, failure: Failure, task: asyncio.Task[Any] | None = None) -> None:
        if self._settle(identifier, task):
            self._send_error(identifier, failure)

    def _settle(self, identifier: str | int, task: asyncio.Task[Any] | None) -> bool:
        """Whether the answer is still owed; it is not any more."""
        owed = self._in_flight.get(identifier)
        if owed is None or owed.task is not task:
            return False
        del self._in_flight[identifier]
        return True

    def _send_error(self, identifier: str | int | None, failure: Failure) -> None:
        # The id is on the wire even when it is null (JSON-RPC 2.0 §5); pygls leaves it off.
        self._send_data({"jsonrpc": "2.0", "id": identifier, "error": failure.on_wire()})

    def _send_data(self, data: Any) -> None:
        """Queue a message. Raises TypeError, ValueError, RecursionError or AttributeError for what is no JSON."""
        if self.outbox is not None:
            self.outbox.put(framed(json.dumps(data, default=self._serialize_message, allow_nan=False)))

    def _check_handler_result(self, future: Future[Any] | asyncio.Future[Any]) -> None:
        if not future.cancelled() and (error := future.exception()) is not None:
            logger.error("a bug in the handler of a notification", exc_info=error)

    # --- the lifecycle ------------------------------------------------------------------------------------------------

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """As pygls does, and announce what is ours."""
        self.client_process = watchable(params.process_id)
        result: types.InitializeResult = yield from super().lsp_initialize(params)
        commands = [command_of(method) for method in self._methods]
        result.capabilities.position_encoding = types.PositionEncodingKind.Utf16
        result.capabilities.execute_command_provider = types.ExecuteCommandOptions(commands=commands)
        result.capabilities.experimental = {"agent": server_abilities(commands)}
        return result

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """As pygls does; what still runs is cancelled and so answered."""
        yield from super().lsp_shutdown(*args)
        for identifier in list(self._in_flight):
            self._cancel(identifier)

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> None:
        """Cancel what shows its progress under the token. lsprotocol lets anything through for one."""
        known = usable_id(params.token) is not None and params.token in self.progress.tokens
        if known:
            self.progress.tokens[params.token].cancel()


async def _handled(handler: Handler, params: Any) -> Any:
    return await handler(params)
