"""The built-in agent: a process beside its sandbox that leads one conversation.

It has no key: its requests go through the attempt's gateway. What the model asks for
passes the executor, and only the bodies of tools run, inside the sandbox.
"""
