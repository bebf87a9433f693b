"""A guide for any family of problems, from its instances: solve, learn, judge."""

from dibs.training.run import Trained, train

__all__ = ["Trained", "train"]
