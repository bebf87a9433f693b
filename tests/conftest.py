from hypothesis import settings

# No deadline: the machine may be busy, and a test must not depend on the clock.
settings.register_profile("dibs", deadline=None, derandomize=True)
settings.load_profile("dibs")
