"""Both ends of a list that may be longer than memory is: a log has any size, what is told of it does not."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from attrs import define, field, frozen

Item = TypeVar("Item")


@frozen
class Ends(Generic[Item]):
    """The first and the last items of a list, in order, and how many between them were left out."""

    first: tuple[Item, ...] = ()
    omitted: int = 0
    last: tuple[Item, ...] = ()

    def __iter__(self) -> Iterator[Item]:
        yield from self.first
        yield from self.last

    def __len__(self) -> int:
        """How many there were, those left out too."""
        return len(self.first) + self.omitted + len(self.last)


@define
class EndsCollector(Generic[Item]):
    """Takes items one by one and keeps at most `first` + `last` of them."""

    first: int
    last: int
    _head: list[Item] = field(init=False, factory=list)
    _tail: deque[Item] = field(init=False, factory=deque)
    _omitted: int = field(init=False, default=0)

    def add(self, item: Item) -> None:
        """The next item."""
        if len(self._head) < self.first:
            self._head.append(item)
            return
        self._tail.append(item)
        if len(self._tail) > self.last:
            self._tail.popleft()
            self._omitted += 1

    def ends(self) -> Ends[Item]:
        """What is kept so far."""
        return Ends(tuple(self._head), self._omitted, tuple(self._tail))
