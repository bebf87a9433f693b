"""One file each to begin with: a family, a guide, an engine, a table. `tests/examples/test_templates.py` runs them."""
