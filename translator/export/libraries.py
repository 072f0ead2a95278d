"""The libraries that exported models are written and run with; they are extras, and imported only where needed."""

import importlib
from typing import Any

from translator.errors import InputError


def require(name: str) -> Any:
    """Return the module of the library `name`.

    Raises:
        InputError: it is not installed; the message says how to get it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"{name.partition('.')[0]} cannot be imported ({error}); install it with: "
            'pip install "ctranslate2>=4.5,<5" "transformers>=5.23,<6"'
        ) from error
