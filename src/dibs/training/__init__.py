"""A guide for any family of problems, from its instances: solve, learn, judge."""

from dibs.training.record import Trained
from dibs.training.run import train
from dibs.training.states import export_states
from dibs.training.verdict import judge_guide

__all__ = ["Trained", "export_states", "judge_guide", "train"]
