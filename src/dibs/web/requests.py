"""What a page may ask, field by field: a value of another kind or out of range is refused before anything is done."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from dibs.problem.shape import Box
from dibs.web import limits

Family = Literal["sudoku", "cnf"]
Name = Annotated[str, Field(max_length=100)]
Seed = Annotated[int, Field(ge=0, le=limits.SEED)]
Side = Annotated[int, Field(ge=1, le=limits.LARGEST)]


class _Fields(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Puzzle(_Fields):
    family: Family
    text: Annotated[str, Field(max_length=limits.BODY)]
    box: Annotated[list[Side], Field(min_length=2, max_length=2)] | None = None  # rows and columns of a Sudoku's box

    @property
    def rectangle(self) -> Box | None:
        return None if self.box is None else (self.box[0], self.box[1])


class Generate(_Fields):
    family: Family
    size: int = 9
    givens: int | None = None
    variables: Annotated[int, Field(ge=3, le=limits.VARIABLES)] = 20
    clauses: Annotated[int, Field(ge=0, le=limits.CLAUSES)] | None = None
    seed: Seed | None = None


class Marginals(Puzzle):
    guide: Name | None = None
    steps: Annotated[int, Field(ge=1, le=limits.MOST_STEPS)] = 1


class SearchChoice(_Fields):
    """A way to search, by name."""

    search: Name
    guide: Name | None = None
    seed: Seed = 0


class Limited(Puzzle):
    """A puzzle, and what each search of it may use."""

    nodes: Annotated[int, Field(ge=0, le=limits.MOST_NODES)] | None = None
    seconds: Annotated[float, Field(ge=0, le=limits.MOST_SECONDS)] | None = None


class Race(Limited):
    searches: Annotated[list[SearchChoice], Field(min_length=1, max_length=2)]


class Node(Limited, SearchChoice):
    node: Annotated[int, Field(ge=0, lt=limits.MOST_NODES)]


class Square(_Fields):
    """A Latin square with holes, filled by dibs and by a rival."""

    order: Annotated[int, Field(ge=4, le=limits.ORDER)]
    holes: Annotated[float, Field(ge=0.1, le=0.6)] = 0.425
    seed: Seed | None = None
    rival: Literal["plain", "cadical195"] = "plain"
