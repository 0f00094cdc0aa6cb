"""Language models: one gateway for every agent, with keys, budgets and records."""
