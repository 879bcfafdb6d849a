"""Models as sessions use them: one of a kind in the process, its connections open while anybody asks it.

A provider's client is a cycle that holds a megabyte or two (its trusted certificates). One for every session would cost
that and 40 ms each time, and stay for good once the collector looks away (docs/adr/0008-the-collector-looks-away.md).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Final
from weakref import WeakKeyDictionary

from attrs import define, evolve, field, frozen

from agent_ls.cancellation import despite_cancel
from agent_ls.garbage import never_look_again
from agent_ls.models.registry import ResolvedModel, default_model_name, resolve_model

_logger = logging.getLogger(__name__)


@frozen
class _Kind:
    name: str
    window: int | None
    reserve_fraction: float


@define(eq=False)
class _SharedModel:
    """The model of a kind and how many use it; the lock keeps opening and closing apart."""

    kind: _Kind
    _model: ResolvedModel | None = None
    _users: int = 0
    _opening: asyncio.Lock = field(factory=asyncio.Lock)
    _connections: AsyncExitStack = field(factory=AsyncExitStack)

    async def lend(self) -> ResolvedModel:
        async with self._opening:
            if self._model is None:
                self._model = await asyncio.to_thread(
                    resolve_model,
                    self.kind.name,
                    window=self.kind.window,
                    reserve_fraction=self.kind.reserve_fraction,
                )
                never_look_again()  # at the provider's SDK
            if self._users == 0:  # entering opens what leaving has closed
                await self._connections.enter_async_context(self._model.model)
            self._users += 1
            return evolve(self._model, on_close=_Loan(self).end)

    async def take_back(self) -> None:
        async with self._opening:
            self._users -= 1
            if self._users:
                return
            try:
                await self._connections.aclose()
            except Exception:  # whatever a provider's library raises, what was answered stands
                _logger.warning("the connections of %s could not be closed", self.kind.name, exc_info=True)


@define(eq=False)
class _Loan:
    """One user of a shared model, who may give it back more than once."""

    _shared: _SharedModel
    _is_over: bool = False

    async def end(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        _, cancelled = await despite_cancel(self._shared.take_back())
        if cancelled:
            raise asyncio.CancelledError


_models: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[_Kind, _SharedModel]]] = WeakKeyDictionary()
"""By event loop, as connections belong to one."""


async def open_model(name: str | None, *, window: int | None = None, reserve_fraction: float = 0.20) -> ResolvedModel:
    """The model that `resolve_model` makes of these; made once, and closed when the last who opened it closes it.

    Raises ModelUnavailable.
    """
    kind = _Kind((name or "").strip() or default_model_name(), window, reserve_fraction)
    of_loop = _models.setdefault(asyncio.get_running_loop(), {})
    return await of_loop.setdefault(kind, _SharedModel(kind)).lend()
