"""`agent-ls demo`: a sample workspace, recorded prompts, and a provider that replays their tool steps."""
