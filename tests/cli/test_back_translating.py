"""The verb back-translate: what it reuses, which pairs it keeps, and what it refuses."""

from pathlib import Path

import pytest

from tests.support.derived_runs import config_of, sentences, to_persian
from translator.cli import main
from translator.core import TAG
from translator.corpus.derived import synthetic_pairs

pytestmark = pytest.mark.usefixtures("little_effort")


def back_translate(folder: Path, output: Path, *flags: str) -> int:
    return main(["back-translate", "--run", str(folder / "fa-en"), "--output", str(output), *flags])


def test_where_no_pair_is_left_nothing_follows_and_translations_are_reused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "long.txt"
    text.write_text((folder / "persian.txt").read_text(encoding="utf-8") + "ا " * 200 + "\n", encoding="utf-8")
    flags = ["--monolingual", str(text), "--round-trip", str(folder / "en-fa"), "--min-chrf", "100"]
    for reused in (0, 2):
        assert back_translate(folder, tmp_path / "synthetic", *flags) == 2
        printed = capsys.readouterr()
        assert "Persian lines: kept 20, too long 1" in printed.out
        assert "no back-translated pair is left" in printed.err
        assert "Next" not in printed.out
        assert printed.out.count("exists and is reused") == reused


def test_synthetic_pairs_are_filtered_and_their_english_is_tagged(folder: Path) -> None:
    """Of 40 pairs, the first four are unusable: empty, twice too long, and with a bad round trip."""
    english = sentences(range(1000, 1040))
    persian = [to_persian(text) for text in english]
    expected = [(f"{TAG} {source}", target) for source, target in zip(english[4:], persian[4:], strict=True)]
    english[0] = ""
    persian[1] = persian[1] * 4
    english[2] = english[2] * 3
    scores = [50.0] * 40
    scores[3] = 0.0
    pairs, counts = synthetic_pairs(english, persian, config_of(folder, "fa-en").corpus.filters, scores, 20)
    assert counts == {"kept": 36, "empty": 1, "length_ratio": 2, "round_trip": 1}
    assert list(pairs) == expected
