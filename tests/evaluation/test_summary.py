"""The summary shows scores with signatures and translations beside their references."""

from translator.evaluation.metrics import compute_scores
from translator.evaluation.summary import TranslatedPair, format_summary


def test_it_shows_scores_and_translations() -> None:
    scores = compute_scores(["سلام دنیا"], ["سلام دنیا"], metrics=("chrf",), test_set="mizan", checkpoint="step-000005")
    text = format_summary("A run", scores, {"mizan": [TranslatedPair("Hello <b>", "سلام دنیا.", "سلام.")]})
    assert text.startswith("# A run\n")
    chrf = next(line for line in text.splitlines() if line.startswith("| mizan | chrf |"))
    assert "| 100.00 |  | raw |" in chrf
    assert "nc:6" in chrf
    assert "step-000005" in chrf
    assert r"\|nc:6" in chrf, "the bars of a signature do not end its cell"
    assert "1. Hello &#60;b&#62;" in text
    assert text.index("reference: \u2067سلام دنیا.\u2069") < text.index("translated: \u2067سلام.\u2069")
