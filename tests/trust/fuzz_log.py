"""Damaged logs, by the million: each loads, from both ends alike, into a history that a provider accepts."""

from __future__ import annotations

from collections.abc import Mapping

from tests.log.fuzz_log import fuzz
from tests.trust.attack import Row, limited, run_shards


def attack_logs(count: int, seed: str, *, workers: int) -> Row:
    """Replay `count` damaged logs."""
    return run_shards("damaged logs", _shard, count, seed, workers=workers, per_shard=10_000)


def _shard(count: int, seed: str) -> Mapping[str, int]:
    with limited() as attempt:
        return {"messages found in them": fuzz(count, seed, on_each=attempt)}
