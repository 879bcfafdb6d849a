"""Compaction policies beside each other, on recorded sessions, request by request (docs/benchmarks.md)."""
