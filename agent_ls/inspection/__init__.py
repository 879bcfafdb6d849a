"""What happened in a session, read once from its log into one frozen value, and told as text and as an HTML page."""
