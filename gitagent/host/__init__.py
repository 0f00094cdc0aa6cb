"""The machine: processes, sandbox, clock, watching, sockets."""
