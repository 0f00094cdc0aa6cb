"""The small Python package that the demo and the tests work on."""
