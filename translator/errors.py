"""The error types that a user's mistake can raise; anything else that escapes is a bug and keeps its traceback.

Every message says what is wrong, where (file and line, key path), and what to do.
"""


class TranslatorError(Exception):
    """A mistake that the person at the keyboard can mend; the base of all the types below."""


class ConfigError(TranslatorError):
    """The configuration file or a `--set` override is wrong."""


class CorpusError(TranslatorError):
    """A corpus is missing, unreadable, misaligned, or empty after cleaning."""


class SubwordError(TranslatorError):
    """A subword model cannot be trained or loaded as asked."""


class RunError(TranslatorError):
    """A run folder is missing, incomplete, or was made with other settings."""


class CheckpointError(RunError):
    """A checkpoint is missing, damaged, or does not fit the model."""


class InputError(TranslatorError):
    """Text or an argument given on the command line or to the Python interface cannot be used."""


class StorageError(TranslatorError):
    """The disk is full, or a file may not be read or written: every function that touches files may raise it."""


class Interrupted(BaseException):
    """SIGINT, SIGTERM or SIGHUP arrived.

    A first one raises only where nothing is at stake or all is saved, a second one anywhere.

    Derives from `BaseException`, as `KeyboardInterrupt` does, so that no handler for ordinary errors swallows it.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"stopped by signal {signal_number}")
        self.signal_number = signal_number

    @property
    def exit_code(self) -> int:
        """The shell's convention: 128 plus the number of the signal (130 for SIGINT, 143 for SIGTERM)."""
        return 128 + self.signal_number
