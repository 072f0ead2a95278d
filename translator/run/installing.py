"""The command that installs packages for the Python that runs this program."""

import shlex
import sys


def install_command(*arguments: str) -> str:
    """Return the command for pip with these arguments; a bare `pip` may belong to another Python."""
    return shlex.join([sys.executable, "-m", "pip", "install", *arguments])
