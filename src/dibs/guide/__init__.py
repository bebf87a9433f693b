"""Who says what to try first."""

from dibs.guide.asks import Asks, Guide
from dibs.guide.oracle import Oracle

__all__ = ["Asks", "Guide", "Oracle"]
