"""The demo's prompts, and for each the tool calls a model made when they were recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import frozen


@frozen
class Call:
    """One recorded tool call."""

    tool: str
    arguments: Mapping[str, Any]


@frozen
class Step:
    """A prompt, its recorded calls, and what the local model is asked to say in its own words at the end."""

    caption: str
    prompt: str
    calls: Sequence[Call]
    say: str


WINDOW: Final = 10_000
"""Tokens: small, so that it fills while one watches."""

_WRONG: Final = "return sum(price for article, price, quantity in basket)"
_FIXED: Final = "return sum(price * quantity for article, price, quantity in basket)"

FIX: Final = Step(
    "A prompt. The agent reads, shows its edit before it makes it, and asks before it runs anything.",
    "The total in shop.py is wrong, please fix it. A rule for later: always mention the test you ran.",
    (
        Call("read_file", {"path": "shop.py"}),
        Call(
            "edit_file",
            {
                "path": "shop.py",
                "old_text": "return sum(price for article, price, quantity in basket)",
                "new_text": _FIXED,
            },
        ),
        Call("run_command", {"command": "python3 test_shop.py"}),
    ),
    "the total now multiplies price by quantity, and test_shop.py passes.",
)

FILL: Final = (
    Step(
        "The window fills. Watch the gauge: tool output is most of it.",
        "Read billing.py and tell me what it is for.",
        (Call("read_file", {"path": "billing.py"}),),
        "billing.py computes the bill of an order, step by step.",
    ),
    Step(
        "At 60 % old tool outputs are blanked, without asking any model. The log keeps every byte.",
        "And shipping.py?",
        (Call("read_file", {"path": "shipping.py"}), Call("read_file", {"path": "returns.py"})),
        "shipping.py prepares an order for shipping, and returns.py takes it back.",
    ),
)


def _minutes(day: str) -> str:
    lines = (f"{number}. We agreed on {day} that item {number} of the list stays." for number in range(1, 126))
    return f"These are the minutes of {day}'s meeting, keep them in mind:\n" + "\n".join(lines)


PASTES: Final = (
    Step(
        "Long prompts fill it too, and they are not blanked: they are yours.",
        _minutes("Monday"),
        (),
        "Monday's decisions are noted.",
    ),
    Step(
        "At 80 % a model writes a summary, before the request that would not leave room. What you said is kept by "
        "code, not by the model's grace.",
        _minutes("Tuesday"),
        (),
        "Tuesday's decisions are noted.",
    ),
)

RECALL: Final = Step(
    "What was blanked is not gone: the agent finds it in the log, to the byte.",
    "What was step 25 in billing.py, exactly?",
    (Call("recall", {"query": "billing_25"}),),
    "step 25 of the billing adds 25 to the value.",
)

AFTER_KILL: Final = Step(
    "The resumed session goes on where it was.",
    "Are you still there?",
    (),
    "you are still here and remember the shop.",
)

STEPS: Final = (FIX, *FILL, *PASTES, RECALL, AFTER_KILL)
