"""What should happen: frozen values, literal tables, pure functions."""
