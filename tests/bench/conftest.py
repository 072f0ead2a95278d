"""Lets the tests of this folder import the benchmarks, which are no part of the installed package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
