"""Corpora with wrong bytes: never a traceback, never a misaligned pair. The long run is `python -m bench.fuzz`."""

from collections import Counter
from typing import Literal

from corpus.fuzz_cases import LAYOUTS, Case, Limits, drawn_case, texts_of
from corpus.fuzzing import REFUSALS, play
from corpus.mutations import SNIPPETS
from hypothesis import given, settings
from hypothesis import strategies as st

SEEDED, DRAWN = 2200, 200
"""Inputs of the mutator and of hypothesis."""

NASTY = st.sampled_from(["\0", "\r", "\x0b", "\x1c", "\u0085", "\u2028", "\ufeff", "\u200c", "\u00a0", "\ufffd", " "])
ANY = st.characters(exclude_characters="\n\t", exclude_categories=["Cs"])
TEXT = st.text(st.one_of(st.sampled_from("abcابپ"), NASTY, ANY), max_size=12)
EDITS = st.lists(
    st.tuples(st.integers(0, 400), st.one_of(st.sampled_from(SNIPPETS), st.binary(max_size=3))), max_size=2
)


def test_seeded_mutations() -> None:
    """Play 2,200 inputs; a failure ends with its seed: replay it with `python -m bench.fuzz --inputs 1 --seed …`."""
    outcomes = Counter(play(drawn_case(seed)) for seed in range(SEEDED))
    assert outcomes["read"] + outcomes["prepared"] > SEEDED // 4, "the mutator breaks too much to find misaligned pairs"
    assert outcomes["prepared"] > SEEDED // 45
    told = {kind for kind in REFUSALS if outcomes[f"refused: {kind}"]}
    assert told >= {"not UTF-8", "sides of unequal length", "columns", "swapped", "blank", "no line", "damaged"}


@settings(deadline=None, max_examples=DRAWN)
@given(
    rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6),
    layout=st.sampled_from(list(LAYOUTS)),
    edits=EDITS,
    invalid_utf8=st.sampled_from(("error", "drop")),
    block=st.sampled_from([1, 3, 40]),
    prepared=st.integers(0, 15).map(lambda number: not number),
)
def test_drawn_texts_and_edits(
    rows: list[tuple[str, str]],
    layout: str,
    edits: list[tuple[int, bytes]],
    invalid_utf8: Literal["error", "drop"],
    block: int,
    prepared: bool,
) -> None:
    files = LAYOUTS[layout](texts_of(rows))
    name = sorted(files)[0]
    for place, piece in edits:
        place %= len(files[name]) + 1
        files[name] = files[name][:place] + piece + files[name][place + len(piece) // 2 :]
    damaged = bool(edits) and layout not in ("table", "two files")
    limits = Limits(block, longest_line=40, pairs_of_a_chunk=2)
    play(Case("drawn by hypothesis", layout, files, damaged, invalid_utf8, None, limits, prepared))


def test_the_same_seed_is_the_same_input() -> None:
    assert drawn_case(7) == drawn_case(7) != drawn_case(8)
