"""Counted attacks: `scripts/attack` runs them in full, the tests beside them run the same code in short."""
