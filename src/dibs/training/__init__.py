"""A guide for any family of problems, from its instances: solve, learn, judge."""

from dibs.training.run import Trained, train
from dibs.training.states import export_states

__all__ = ["Trained", "export_states", "train"]
