"""Remarks on how a text is read, which its errors repeat."""

from collections.abc import Callable


class Remarks:
    """Passes on the notes of a text, and adds them to errors: they tell the columns that are read."""

    def __init__(self, label: str, note: Callable[[str], None]) -> None:
        self._label = label
        self._note = note
        self._notes: list[str] = []

    def add(self, message: str) -> None:
        """Pass on a note."""
        self._notes.append(message.removeprefix(f"{self._label}: "))
        self._note(message)

    def __str__(self) -> str:
        """Return the notes as the end of a message."""
        return "".join(f"; {message}" for message in self._notes)
