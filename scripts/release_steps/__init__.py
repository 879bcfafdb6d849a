"""What `scripts/release` does, in the order of `__main__`."""
