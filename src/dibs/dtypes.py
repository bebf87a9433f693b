"""Arrays by what they hold, as types of arguments and results."""

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]  # of networks: scores, logits, weights
Values = NDArray[np.uint8]  # of grids: 1 is the first symbol, 0 a blank cell
