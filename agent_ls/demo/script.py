"""The demo's prompts, and for each the tool calls a model made when they were recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from agent_ls.demo.workspace import FIXED_LINE, WRONG_LINE, price_list, price_rules

Arguments = Mapping[str, Any]


@frozen
class Call:
    """One recorded tool call. Arguments that depend on what the call before it returned are made from that."""

    tool: str
    arguments: Arguments | Callable[[str], Arguments]

    def arguments_after(self, result: str) -> Arguments:
        """The arguments, where `result` is what the newest tool call returned."""
        return self.arguments(result) if callable(self.arguments) else self.arguments


@frozen
class Step:
    """A prompt; the calls of each round that answers it; what the local model is asked to say in the end."""

    caption: str
    prompt: str
    rounds: Sequence[Sequence[Call]]
    say: str
    permission: str = "allow_once"


WINDOW: Final = 16_000
"""Tokens: small, so that it fills while one watches."""

_LAST_CHARACTERS: Final = 49
_FOUND: Final = re.compile(r"(?P<id>message-[\d.]+) \(result of read_file, (?P<length>\d+) characters\)")


def _end_of_found(result: str) -> Arguments:
    """Ask for the end of the oldest text that `recall` found."""
    found = list(_FOUND.finditer(result))
    if not found:
        return {"query": "billing_70"}
    return {"id": found[-1]["id"], "offset": max(int(found[-1]["length"]) - _LAST_CHARACTERS, 0)}


def _read(*paths: str) -> Sequence[Call]:
    return tuple(Call("read_file", {"path": path}) for path in paths)


RULE: Final = "always name the test you ran"

FIX: Final = Step(
    "A prompt. The agent reads the file, shows its edit before it makes it, and asks before it runs anything.",
    f"The total in shop.py is wrong, please fix it. A rule from now on: {RULE}.",
    (
        _read("shop.py"),
        (Call("edit_file", {"path": "shop.py", "old_text": WRONG_LINE, "new_text": FIXED_LINE}),),
        (Call("run_command", {"command": "python3 test_shop.py"}),),
    ),
    "shop.py is fixed and test_shop.py passes.",
)

READ: Final = Step(
    "The gauge: how full the model's window is, as the provider counted it. What the agent reads fills it.",
    "What does billing.py do?",
    (_read("billing.py"),),
    "billing.py bills an order in 70 steps.",
)

READ_MORE: Final = Step(
    "Past 60 % (the first mark) old tool outputs are blanked as the turn ends. That costs no model call.",
    "And shipping.py, returns.py and stock.py?",
    (_read("shipping.py", "returns.py", "stock.py"),),
    "shipping.py, returns.py and stock.py each have 70 steps.",
)

WRITE: Final = Step(
    "What the agent writes fills the window too. This time it may go on editing: “for this session”.",
    "Write a price list into prices.py.",
    ((Call("write_file", {"path": "prices.py", "content": price_list()}),),),
    "prices.py holds the price list.",
    permission="allow_session",
)

WRITE_MORE: Final = Step(
    "So it is not asked again.",
    "And the discounts into rules.py.",
    ((Call("write_file", {"path": "rules.py", "content": price_rules()}),),),
    "rules.py holds the discounts.",
)

READ_AGAIN: Final = Step(
    "At 80 % (the second mark) blanking is not enough: a model writes a summary, before the request that would not "
    "leave room, in the middle of a turn. The model is small and its summary poor. So nothing that matters is left "
    "to it: your own words, files and commands are kept by code.",
    "Compare orders.py and customers.py.",
    (_read("orders.py", "customers.py"),),
    "orders.py and customers.py both have 70 steps.",
)

RECALL: Final = Step(
    "billing.py was blanked, then summarised. It is not lost: the agent finds it in the session's log, to the byte.",
    "How did billing.py end? Don't read the file again.",
    (
        (Call("recall", {"query": "billing_70"}),),
        (Call("recall", _end_of_found),),
    ),
    "billing.py ends with step 70, which adds 70.",
)

INTERRUPTED: Final = Step(
    "Now the worst case: the server is killed (kill -9) in the middle of a turn, while it waits for an answer.",
    "Run the test again.",
    ((Call("run_command", {"command": "python3 test_shop.py"}),),),
    "test_shop.py passes.",
)

GO_ON: Final = Step(
    "The session goes on. The model is told that its call was interrupted, and makes it again.",
    "You were interrupted, please go on.",
    ((Call("run_command", {"command": "python3 test_shop.py"}),),),
    "test_shop.py still passes.",
)

STEPS: Final = (FIX, READ, READ_MORE, WRITE, WRITE_MORE, READ_AGAIN, RECALL, INTERRUPTED, GO_ON)
