"""A small local page and its JSON API: English is typed, Persian comes back, and requests share batches.

The page and the API stand on FastAPI and uvicorn, an extra; what is imported here needs neither.
"""

from translator.serve.installed import check_installed
from translator.serve.limits import Limits

__all__ = ["Limits", "check_installed"]
