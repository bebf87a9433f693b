import pytest
from hypothesis import settings

# No deadline: the machine may be busy, and a test must not depend on the clock.
settings.register_profile("dibs", deadline=None, derandomize=True)
settings.load_profile("dibs")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-options",
        action="store_true",
        help="every one of the 10,000 random problems under every level, tie, order and guide (`make agreement`)",
    )
