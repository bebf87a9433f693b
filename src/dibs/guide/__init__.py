"""Who says what to try first."""

from dibs.guide.load import load_guide
from dibs.guide.score import DiBS
from dibs.search.contract import Asks, Guide, as_guide
from dibs.search.guidance import Guidance
from dibs.search.oracle import Oracle

__all__ = ["Asks", "DiBS", "Guidance", "Guide", "Oracle", "as_guide", "load_guide"]
