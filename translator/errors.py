"""The error types for user errors; any other uncaught exception is a bug and keeps its traceback.

Every message states the problem, its location (file and line, key path), and the remedy.
"""

import signal


class TranslatorError(Exception):
    """An error that the user can fix; the base of all types below."""


class ConfigError(TranslatorError):
    """The configuration file or a `--set` override is invalid."""


class CorpusError(TranslatorError):
    """A corpus is missing, unreadable, misaligned, or empty after cleaning."""


class SubwordError(TranslatorError):
    """A subword model cannot be trained or loaded as requested."""


class RunError(TranslatorError):
    """A run folder is missing, incomplete, or has different settings."""


class CheckpointError(RunError):
    """A checkpoint is missing, damaged, or does not fit the model."""


class InputError(TranslatorError):
    """A text or an argument of the command line or the Python interface is invalid."""


class StorageError(TranslatorError):
    """The disk is full, or a file cannot be read or written; every function that accesses files may raise it."""


class Interrupted(BaseException):
    """SIGINT, SIGTERM or SIGHUP arrived.

    The first signal raises only where no work is lost or all work is saved; a second signal raises anywhere.

    Derives from `BaseException`, as `KeyboardInterrupt` does, so that no handler of ordinary errors catches it.
    """

    def __init__(self, signal_number: int) -> None:
        key = " (Ctrl-C)" if signal_number == signal.SIGINT else ""
        super().__init__(f"stopped by {signal.Signals(signal_number).name}{key}")
        self.signal_number = signal_number

    @property
    def exit_code(self) -> int:
        """The exit code by shell convention: 128 plus the signal number (130 for SIGINT, 143 for SIGTERM)."""
        return 128 + self.signal_number
