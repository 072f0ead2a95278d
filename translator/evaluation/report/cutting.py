"""Long sentences on the page: the beginning is shown, and the rest on request."""

from typing import Any, Final, NamedTuple

from translator.evaluation.report.differences import Pieces

LIMIT: Final = 600
"""Characters that are shown at first."""


class Shown(NamedTuple):
    """A text in pieces, cut in two if it is long."""

    head: Pieces
    rest: Pieces = ()
    left: int = 0
    """Characters in the rest."""

    def to_json(self) -> Any:
        """Return the shortest form that the page's script knows: a text, a list of pieces, or an object."""
        if self.left:
            return {"head": self.head, "rest": self.rest, "left": self.left}
        return self.head[0] if len(self.head) == 1 else self.head


def cut(pieces: Pieces, limit: int = LIMIT) -> Shown:
    """Return `pieces`, cut after `limit` characters if there are more; the rest too begins with what is the same."""
    if sum(map(len, pieces)) <= limit:
        return Shown(pieces)
    head: list[str] = []
    room = limit
    for place, piece in enumerate(pieces):
        if len(piece) > room:
            rest = (piece[room:], *pieces[place + 1 :])
            return Shown(
                (*head, piece[:room]),
                rest if place % 2 == 0 else ("", *rest),
                left=sum(map(len, rest)),
            )
        head.append(piece)
        room -= len(piece)
    raise AssertionError("the pieces are longer than the limit")
