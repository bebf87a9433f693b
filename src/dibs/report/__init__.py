"""Tables and figures: pure functions of the records."""
