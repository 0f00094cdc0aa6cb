"""What later work receives: items, their evidence, brief, recall, search."""
