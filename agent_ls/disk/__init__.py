"""How every file of ours is written: the operating system behind a port, and files that are whole or not there."""
