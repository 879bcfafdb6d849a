"""The demo's project: a small shop with a bug, and modules long enough to fill a small window."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

WRONG_LINE: Final = "return sum(price for article, price, quantity in basket)"
FIXED_LINE: Final = "return sum(price * quantity for article, price, quantity in basket)"

_SHOP: Final = f'''\
"""A small shop."""


def total(basket):
    """The price of a basket: (article, price, quantity) each."""
    {WRONG_LINE}
'''

_TEST: Final = """\
from shop import total

basket = [("apple", 2, 3), ("pear", 5, 1)]
assert total(basket) == 11, f"expected 11, got {total(basket)}"
print("ok: a basket of 3 apples and a pear costs 11")
"""

_AGENTS: Final = """\
# Rules of this project
- Prices are whole cents, never floats.
"""

_FRUIT: Final = ("apple", "pear", "plum", "cherry", "peach", "quince", "fig", "grape", "melon", "lemon")
_STEPS: Final = 70


def _module(subject: str) -> str:
    steps = "\n".join(f"def {subject}_{number}(value): return value + {number}\n" for number in range(1, _STEPS + 1))
    return f'"""The {subject} of an order, step by step."""\n\n{steps}'


def price_list() -> str:
    """A module the demo's agent writes: long, because a model's own words fill a window as well."""
    articles = (
        f'    "{fruit}-{size}": {70 + 13 * size + 7 * at},' for at, fruit in enumerate(_FRUIT) for size in range(1, 17)
    )
    return '"""Prices in cents."""\n\nPRICES = {\n' + "\n".join(articles) + "\n}\n"


def price_rules() -> str:
    """The other module it writes."""
    rules = (
        f'    ("{fruit}", {size * 5}, {size}),  # {size * 5} or more: {size} % off'
        for fruit in _FRUIT
        for size in range(1, 11)
    )
    return '"""Discounts: fruit, quantity, per cent."""\n\nDISCOUNTS = [\n' + "\n".join(rules) + "\n]\n"


FILES: Final[Mapping[str, str]] = {
    "shop.py": _SHOP,
    "test_shop.py": _TEST,
    "AGENTS.md": _AGENTS,
    **{
        f"{subject}.py": _module(subject)
        for subject in ("billing", "shipping", "returns", "stock", "orders", "customers")
    },
}


def create(folder: Path) -> Path:
    """Write the project into `folder/shop`, which is made; returns it."""
    workspace = folder / "shop"
    workspace.mkdir()
    for name, text in FILES.items():
        (workspace / name).write_text(text, encoding="utf-8", newline="\n")
    return workspace
