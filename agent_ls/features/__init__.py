"""What the server answers: one file for each family of methods, each with a `register(host)`."""
