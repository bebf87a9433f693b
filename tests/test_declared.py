"""Arrays that are declared once."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from dibs import declared


class Some(NamedTuple):
    name: str
    trail: Annotated[NDArray[np.uint32], "rows", "literals+domains+1"]
    sure: Annotated[NDArray[np.bool_], "3"]
    shared: Annotated[NDArray[np.float32], "rows"]


def test_dtypes_and_shapes_are_those_of_the_declaration() -> None:
    given = np.ones(2, np.float32)
    for make in (declared.room, declared.zeros):
        some = make(Some, {"rows": 2, "literals": 5, "domains": 4}, name="x", shared=given)
        assert type(some) is Some
        assert some.name == "x"
        assert some.shared is given
        assert (some.trail.dtype, some.trail.shape) == (np.dtype(np.uint32), (2, 10))
        assert (some.sure.dtype, some.sure.shape) == (np.dtype(np.bool_), (3,))
    assert not some.trail.any()


def test_a_size_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(KeyError, match="literals"):
        declared.room(Some, {"rows": 2}, name="x")
