"""What is said when one of the processes that train together is gone."""

import contextlib
from collections.abc import Iterator
from typing import Final

from translator.errors import RunError

ADVICE: Final = "the last checkpoint is unharmed, and the same command goes on from it"
_SIGNS: Final = ("gloo", "nccl", "connection", "socket", "timed out", "timeout", "broken pipe")
"""What the errors of torch's two ways to talk between processes have in them, in small letters."""


class LostProcessError(RunError):
    """Another process of the run was killed, failed, or cannot be reached any more."""


@contextlib.contextmanager
def lost_process_errors(world: int) -> Iterator[None]:
    """Turn the errors of a broken connection between `world` processes into one that a person understands.

    Torch has no type of its own for most of them: they are told by their text, and all others pass.

    Raises:
        LostProcessError: another process is gone.
    """
    try:
        yield
    except RuntimeError as error:
        from torch.distributed import DistError

        if not isinstance(error, DistError) and not any(sign in str(error).lower() for sign in _SIGNS):
            raise
        said = str(error).strip().split("\n")[0]
        raise LostProcessError(
            f"one of the {world} processes of this run was lost (killed, out of memory, or its machine cannot be "
            f"reached); {ADVICE} (torch says: {said[:200]})"
        ) from error
