"""What runs beside an agent, inside its sandbox: it can do no more than the agent."""
