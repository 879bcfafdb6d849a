"""The demo's project: a small shop with a bug, and modules long enough to fill a small window."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

_SHOP: Final = '''\
"""A small shop."""

VAT = 0.19


def total(basket):
    """The price of a basket: (article, price, quantity) each."""
    return sum(price for article, price, quantity in basket)
'''

_TEST: Final = """\
from shop import total

basket = [("apple", 2, 3), ("pear", 5, 1)]
assert total(basket) == 11, f"expected 11, got {total(basket)}"
print("ok")
"""

_AGENTS: Final = """\
# Rules of this project
- Prices are whole cents, never floats.
"""


def _module(name: str, subject: str) -> str:
    functions = "\n\n".join(
        f'def {subject}_{number}(value):\n    """Step {number} of the {subject}."""\n    return value + {number}'
        for number in range(1, 26)
    )
    return f'"""{name}: the {subject} of an order, step by step."""\n\n{functions}\n'


FILES: Final[Mapping[str, str]] = {
    "shop.py": _SHOP,
    "test_shop.py": _TEST,
    "AGENTS.md": _AGENTS,
    "billing.py": _module("billing.py", "billing"),
    "shipping.py": _module("shipping.py", "shipping"),
    "returns.py": _module("returns.py", "returns"),
}


def create(folder: Path) -> Path:
    """Write the project into `folder/shop`."""
    workspace = folder / "shop"
    workspace.mkdir()
    for name, text in FILES.items():
        (workspace / name).write_text(text, encoding="utf-8")
    return workspace
