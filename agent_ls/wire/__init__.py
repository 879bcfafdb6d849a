"""JSON-RPC over stdio, hardened: what pygls 2.1 leaves open of the wire contract (PROTOCOL "Guarantees").

Knows messages and bytes, no session and no agent; imports nothing of pydantic-ai.
"""
