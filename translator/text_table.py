"""Tables and excerpts in plain text, for a terminal or a log."""

from collections.abc import Sequence

GAP = "  "


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> str:
    """Return `rows` under `header` and a rule, each column as wide as its widest cell.

    Args:
        header: the name of each column.
        rows: as many cells each as the header.
        text_columns: columns, from the left, that start on the left; the others hold numbers and end on the right.
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        GAP.join(
            cell.ljust(width) if number < text_columns else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in (header, *rows)
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def excerpt(text: str, longest: int) -> str:
    """Return `text` cut to `longest` characters and in one line, unable to steer the terminal that it is printed on."""
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(
        character if character.isprintable() or character == "\u200c" else ascii(character)[1:-1] for character in text
    )
