"""A conversation on a terminal, or through a pipe: the client of a chat."""
