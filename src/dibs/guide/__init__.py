"""Who says what to try first."""

from dibs.guide.asks import Asks, Guide, as_guide
from dibs.guide.guidance import Guidance
from dibs.guide.load import load_guide
from dibs.guide.oracle import Oracle
from dibs.guide.score import DiBS

__all__ = ["Asks", "DiBS", "Guidance", "Guide", "Oracle", "as_guide", "load_guide"]
