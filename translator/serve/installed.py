"""Whether the libraries of the extra `serve` are there."""

import importlib

from translator.errors import InputError


def check_installed() -> None:
    """Make sure that the server's libraries can be imported.

    Raises:
        InputError: one cannot; the message says how to get it.
    """
    for name in ("fastapi", "uvicorn"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise InputError(
                f"{name} cannot be imported ({error}); install it with: "
                'pip install "fastapi>=0.165,<1" "uvicorn>=0.54,<1"'
            ) from error
