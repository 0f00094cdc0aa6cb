"""One attempt at a task: workspace, backends, leftovers, harvest."""
