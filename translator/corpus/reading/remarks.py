"""Remarks on how a text is read, which its errors repeat."""

from collections.abc import Callable


class Remarks:
    """Passes on remarks on how a text is read, such as the columns that were chosen, and collects them for errors."""

    def __init__(self, label: str, note: Callable[[str], None]) -> None:
        """Take the name of the text in messages, and the function that gets each remark."""
        self._label = label
        self._note = note
        self._remarks: list[str] = []

    def add(self, remark: str) -> None:
        """Pass on and collect a remark."""
        self._remarks.append(remark.removeprefix(f"{self._label}: "))
        self._note(remark)

    def __str__(self) -> str:
        """Return the remarks as the end of a message."""
        return "".join(f"; {remark}" for remark in self._remarks)
