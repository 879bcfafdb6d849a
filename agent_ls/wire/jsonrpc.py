"""pygls' protocol with the gaps closed: every request is answered exactly once, whatever it holds.

Stock pygls 2.1 never answers a request whose params do not structure, drops requests after shutdown, sends tracebacks
to the client and mistakes a nested key "jsonrpc" for a message (measured; docs/adr/0005-hardened-wire.md).
Methods of our own are registered with `serve`: their params stay plain JSON until the handler's type is applied here.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Generator, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen
from cattrs import transform_error
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage
from pygls.protocol.language_server import lsp_method

from agent_ls.errors import AgentError
from agent_ls.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    REQUEST_FAILED,
    SERVER_NOT_INITIALIZED,
    command_of,
    server_abilities,
)
from agent_ls.wire.converter import BadParams, structure, unstructure
from agent_ls.wire.framing import MAX_BODY_BYTES
from agent_ls.wire.outbox import Outbox, framed

if TYPE_CHECKING:
    from cattrs import Converter
    from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)

_BARE_STRING: Final[Mapping[str, str]] = {"agent.prompt": "prompt", "agent.compact": "focus"}
"""Commands whose one argument may be a string: the field it stands for (PROTOCOL "executeCommand")."""

Handler = Callable[[Any], Awaitable[Any]]


@frozen
class _Method:
    params: type[Any]
    handler: Handler


class AgentProtocol(LanguageServerProtocol):
    """The protocol of one connection."""

    outbox: Outbox | None = None
    on_exit: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self._methods: dict[str, _Method] = {}
        self._notifications: dict[str, _Method] = {}
        self._initialize_seen = False
        self._initialized = False

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
            message = json.loads(data)
        except (ValueError, RecursionError) as error:
            self._refuse(None, PARSE_ERROR, f"Parse error: {error}")
            return
        self.handle_message(message)

    def refuse_too_large(self, length: int) -> None:
        """A message above the cap was skipped."""
        self._refuse(None, INVALID_REQUEST, f"a message of {length} bytes is above the limit of {MAX_BODY_BYTES}")

    def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
        """Identity: pygls calls it for every nested object."""
        return data

    def handle_message(self, message: Any) -> None:
        """Judge one JSON value and pass it on; answer what cannot be passed on."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            identifier = message.get("id") if isinstance(message, dict) else None
            self._refuse(_usable_id(identifier), INVALID_REQUEST, "not a JSON-RPC 2.0 message object")
            return
        method = message.get("method")
        if method is None:
            self._take_response(message)
        elif not isinstance(method, str):
            self._refuse(_usable_id(message.get("id")), INVALID_REQUEST, "`method` must be a string")
        elif "id" in message:
            self._take_request(message["id"], method, message.get("params"))
        else:
            self._take_notification(method, message.get("params"))

    def _take_request(self, identifier: Any, method: str, params: Any) -> None:
        if _usable_id(identifier) is None:
            self._refuse(None, INVALID_REQUEST, "`id` must be a string or an integer")
        elif self._shutdown:
            self._refuse(identifier, INVALID_REQUEST, "the server is shutting down")
        elif method == types.INITIALIZE and self._initialize_seen:
            self._refuse(identifier, INVALID_REQUEST, "initialize was sent before")
        elif method != types.INITIALIZE and not self._initialize_seen:
            self._refuse(identifier, SERVER_NOT_INITIALIZED, f"{method} before initialize")
        elif identifier in self._request_futures:
            self._refuse(identifier, INVALID_REQUEST, f"a request with the id {identifier!r} is being answered")
        elif method == types.WORKSPACE_EXECUTE_COMMAND:
            self._take_command(identifier, params)
        elif (own := self._methods.get(method)) is not None:
            self._run(identifier, own, params)
        else:
            self._take_lsp_request(identifier, method, params)

    def _take_lsp_request(self, identifier: Any, method: str, params: Any) -> None:
        if method not in self.fm.builtin_features and method not in self.fm.features:
            self._refuse(identifier, METHOD_NOT_FOUND, f"unknown method {method!r}")
            return
        typed = self._typed({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}, identifier)
        if typed is None:
            return
        if method == types.INITIALIZE:
            self._initialize_seen = True
        super().handle_message(typed)

    def _take_command(self, identifier: Any, params: Any) -> None:
        command = params.get("command") if isinstance(params, dict) else None
        arguments = (params.get("arguments") or []) if isinstance(params, dict) else []
        own = next((each for method, each in self._methods.items() if command_of(method) == command), None)
        if own is None:
            self._refuse(identifier, INVALID_PARAMS, f"$.command: unknown command {command!r}")
        elif not isinstance(arguments, list) or len(arguments) > 1:
            self._refuse(identifier, INVALID_PARAMS, "$.arguments: expected an array of at most one argument")
        else:
            argument = arguments[0] if arguments else None
            if isinstance(argument, str) and command in _BARE_STRING:
                argument = {_BARE_STRING[command]: argument}
            self._run(identifier, own, argument)

    def _take_notification(self, method: str, params: Any) -> None:
        if method == types.EXIT:
            self.on_exit()
        elif method == types.CANCEL_REQUEST:
            if isinstance(params, dict) and (identifier := _usable_id(params.get("id"))) is not None:
                self._cancel(identifier)
        elif not self._initialize_seen or self._shutdown:
            logger.debug("%s is ignored: the server is not running", method)
        elif (own := self._notifications.get(method)) is not None:
            try:
                typed = structure(params, own.params)
            except BadParams as bad:
                logger.warning("%s is ignored: %s", method, bad)
                return
            task = asyncio.ensure_future(own.handler(typed))
            task.add_done_callback(_log_failure)
        elif method in self.fm.builtin_features or method in self.fm.features:
            message = self._typed({"jsonrpc": "2.0", "method": method, "params": params}, None)
            if message is not None:
                super().handle_message(message)

    def _take_response(self, message: dict[str, Any]) -> None:
        identifier = _usable_id(message.get("id"))
        if identifier is None:
            logger.warning("the client sent a response without an id: %r", message.get("error"))
            return
        future = self._request_futures.get(identifier)
        if future is None or future.done():
            # Answered twice, or after the request was given up (pygls #621).
            self._request_futures.pop(identifier, None)
            logger.debug("a response to %r came too late", identifier)
            return
        expected = self._result_types.pop(identifier, None)
        if "error" in message:
            error = message["error"] if isinstance(message["error"], dict) else {}
            future = self._request_futures.pop(identifier)
            code = error.get("code")
            future.set_exception(
                JsonRpcException(
                    str(error.get("message", "")), code if isinstance(code, int) else None, error.get("data")
                )
            )
            return
        try:
            typed = (
                self._converter.structure(message, expected)
                if expected is not None
                else JsonRPCResponseMessage(identifier, "2.0", message.get("result"))
            )
        except Exception as error:  # noqa: BLE001  # cattrs raises many kinds; all mean that the answer is no answer
            self._request_futures.pop(identifier).set_exception(JsonRpcInvalidParams(str(error)))
            return
        super().handle_message(typed)

    def _typed(self, message: dict[str, Any], identifier: Any) -> Any:
        """An LSP message in lsprotocol's type; None if it does not fit, which a request is told."""
        cls = self.get_message_type(message["method"])
        if cls is None:
            kind = JsonRPCNotification if identifier is None else JsonRPCRequestMessage
            return kind(**message)
        try:
            return self._converter.structure(message, cls)
        except Exception as error:  # noqa: BLE001  # cattrs raises many kinds; all mean bad params
            problems = [problem.replace("$.params", "$") for problem in transform_error(error)]
            if identifier is None:
                logger.warning("%s is ignored: %s", message["method"], "; ".join(problems))
            else:
                self._refuse(identifier, INVALID_PARAMS, f"Invalid params: {'; '.join(problems)}", problems)
            return None

    # --- running our own ------------------------------------------------------------------------------------------

    def _run(self, identifier: Any, method: _Method, params: Any) -> None:
        try:
            typed = structure(params, method.params)
        except BadParams as bad:
            self._refuse(identifier, INVALID_PARAMS, f"Invalid params: {bad}", list(bad.problems))
            return
        task = asyncio.ensure_future(method.handler(typed))
        self._request_futures[identifier] = task
        task.add_done_callback(lambda done: self._send_handler_result(done, msg_id=identifier))

    def _cancel(self, identifier: Any) -> None:
        future = self._request_futures.get(identifier)
        if future is not None and not future.done():
            # The entry stays until the answer is sent: a cancelled handler still answers, once.
            future.cancel()

    def _send_handler_result(self, future: Future[Any], *, msg_id: Any) -> None:
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            self._refuse(msg_id, REQUEST_CANCELLED, "the request was cancelled")
            return
        match future.exception():
            case None:
                self._answer(msg_id, future.result())
            case AgentError() as error:
                data: dict[str, Any] = {"kind": error.kind, "retryable": error.retryable}
                if error.session_id is not None:
                    data["sessionId"] = error.session_id
                if error.hint is not None:
                    data["hint"] = error.hint
                self._refuse(msg_id, REQUEST_FAILED, error.message, data)
            case BadParams() as bad:
                self._refuse(msg_id, INVALID_PARAMS, f"Invalid params: {bad}", list(bad.problems))
            case JsonRpcException() as error:
                self._refuse(msg_id, error.code, error.message, error.data if error.code != INTERNAL_ERROR else None)
            case bug:
                logger.error("a bug in the handler of request %r", msg_id, exc_info=bug)
                self._refuse(
                    msg_id, INTERNAL_ERROR, f"internal error ({type(bug).__name__}); the server's log has more"
                )

    # --- what goes out --------------------------------------------------------------------------------------------

    def _answer(self, identifier: Any, result: Any) -> None:
        response_type = self._result_types.pop(identifier, None)
        if response_type is not None:
            self._send_data(response_type(id=identifier, result=result, jsonrpc="2.0"))
            return
        self._send_data({"jsonrpc": "2.0", "id": identifier, "result": unstructure(result)})

    def _refuse(self, identifier: Any, code: int, message: str, data: Any = None) -> None:
        error: dict[str, Any] = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        # The id is on the wire even when it is null (JSON-RPC 2.0 §5); pygls leaves it off.
        self._send_data({"jsonrpc": "2.0", "id": identifier, "error": error})

    def _send_response(self, msg_id: Any, result: Any = None, error: types.ResponseError | None = None) -> None:
        if error is not None:
            self._refuse(msg_id, error.code, error.message, error.data)
        else:
            self._answer(msg_id, result)

    def _send_data(self, data: Any) -> None:
        try:
            body = json.dumps(data, default=self._serialize_message)
        except (TypeError, ValueError, RecursionError, AttributeError) as error:
            identifier = data.get("id") if isinstance(data, dict) else getattr(data, "id", None)
            logger.error("a message could not be written as JSON", exc_info=error)
            if identifier is None:
                return
            body = json.dumps(
                {
                    "jsonrpc": "2.0",
                    "id": identifier,
                    "error": {"code": INTERNAL_ERROR, "message": "unserialisable result"},
                }
            )
        if self.outbox is not None:
            self.outbox.put(framed(body))

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """As pygls does, and announce what is ours."""
        result: types.InitializeResult = yield from super().lsp_initialize(params)
        commands = [command_of(method) for method in self._methods]
        result.capabilities.execute_command_provider = types.ExecuteCommandOptions(commands=commands)
        result.capabilities.experimental = {"agent": server_abilities(commands)}
        return result


def _usable_id(identifier: Any) -> str | int | None:
    return identifier if isinstance(identifier, str | int) and not isinstance(identifier, bool) else None


def _log_failure(task: asyncio.Future[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("a bug in the handler of a notification", exc_info=error)
