"""Recorded sessions of real agents, replayed through the real server against the strict simulator."""
