"""The loop: read, decide, enact; and what starts, stops and recovers it."""
