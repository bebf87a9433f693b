"""Training of guides; needs the extra `train` (torch). Running them does not: see `dibs.guide`."""
