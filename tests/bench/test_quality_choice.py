"""Checkpoint and length penalty are chosen by BLEU and chrF together."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.quality_choice import choose
from translator.corpus.test_set import HeldOutSet

REFERENCE = "sun moon star cloud rain snow wind storm river lake hill field"
SHORT = " ".join(REFERENCE.split()[:8])
RUN_ON = REFERENCE + " tttt" * 16


def contestant(folder: Path, answers: dict[tuple[str, float], str]) -> Any:
    """One that says of every sentence what `answers` has for a checkpoint and a penalty."""

    def translate(checkpoint: str, penalty: float, source: str, output: Path) -> None:
        assert source == "choice"
        output.write_text(f"{answers[checkpoint, penalty]}\n" * 4, encoding="utf-8")

    of_both = ((REFERENCE,), (REFERENCE,))
    sets = [HeldOutSet(name, ("one", "two"), of_both, (name, name)) for name in ("first", "second")]
    penalties = sorted({penalty for _, penalty in answers})
    text = SimpleNamespace(sets=lambda source: sets)
    return SimpleNamespace(folder=folder, text=text, length_penalties=penalties, translate=translate)


def test_what_runs_on_is_not_chosen(tmp_path: Path) -> None:
    answers = {("last", 0.6): "sun", ("last", 1.0): SHORT, ("last", 1.8): RUN_ON, ("best", 1.0): "sun moon"}
    choice = choose(contestant(tmp_path, answers), ["best", "last"])
    assert (choice["checkpoint"], choice["length_penalty"]) == ("last", 1.0)
    scores = {(one["checkpoint"], one["length_penalty"]): one for one in choice["tried"]}
    assert set(scores) == set(answers)
    assert scores["last", 1.8]["chrf"] > scores["last", 1.0]["chrf"], "by chrF alone it would be"
    assert scores["last", 1.8]["bleu"] < scores["last", 1.0]["bleu"]
