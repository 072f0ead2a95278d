"""Dashes and hyphens: one of each, and programs' options left alone."""

import pytest

from translator.corpus.normalize.dashes import dash, one_dash


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("yes – no", "yes — no"),
        ("–yes", "—yes"),
        ("pages 10–20, London–Paris", "pages 10-20, London-Paris"),
        ("the old -- and the new", "the old — and the new"),
        ("shallow--the new", "shallow—the new"),
        ("to you-- (remember), he said.--", "to you— (remember), he said.—"),
        ("git log --graph, i-- and a---b --- c", "git log --graph, i-- and a---b --- c"),
        ("3 - 2, well-known", "3 - 2, well-known"),
    ],
)
def test_one_dash(text: str, normal: str) -> None:
    assert one_dash(text) == normal


def test_single_characters() -> None:
    assert "".join(map(dash, "‐‑−‒–—―-")) == "---––——-"
