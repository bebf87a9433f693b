"""A guide for a family of problems, here timetables of schools: `python examples/own_guide.py` (four minutes)."""

import dibs

# Solves instances of the family, learns from them, and measures on others whether the guide pays.
trained = dibs.train("dibs.generate.timetable:family", minutes=4, out="my-guide")
print(trained.verdict)
