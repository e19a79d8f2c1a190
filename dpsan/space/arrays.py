"""Types of arrays that many files name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
"""Row numbers of words, and what is counted like them: places, ranks, levels."""
Floats = NDArray[np.float64]
