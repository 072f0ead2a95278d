"""Showing what a server or an archive says without letting it speak to the terminal."""

_LONGEST = 200


def printable(text: str) -> str:
    """Return at most 200 characters of `text`, control characters replaced."""
    return "".join(character if character.isprintable() else "?" for character in text[:_LONGEST])
