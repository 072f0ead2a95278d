"""What a model looks at: attention maps and word alignments of the hypotheses of a segment."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from translator.core import EOS
from translator.core.hypothesis import Hypothesis
from translator.inference.alignment import Alignment, AttentionMap, align_words
from translator.inference.engines.searcher import Searcher
from translator.inference.text.segments import Segment
from translator.subword import SubwordPair


class Looks(NamedTuple):
    """Where a model looked while it wrote a hypothesis."""

    attention_map: AttentionMap
    alignment: Alignment


def attention_of(
    searcher: Searcher, subword: SubwordPair, segment: Segment, hypotheses: Sequence[Hypothesis]
) -> list[Looks]:
    """Return the attention map and the word alignment of each hypothesis.

    Args:
        searcher: an engine that gives attention.
        subword: spells the ids of both sides.
        segment: the source; placeholders are shown as the text that they stand for.
        hypotheses: translations of the segment.

    Raises InputError: the engine gives no attention.
    """
    # 1. The weights. A finished hypothesis ends in EOS.
    labels = []
    for hypothesis in hypotheses:
        ending = [EOS] if hypothesis.finished else []
        labels.append([*hypothesis.tokens, *ending])
    all_weights = searcher.cross_attention([segment.ids] * len(labels), labels)

    # 2. The pieces and words of both sides.
    spellings = {}
    for placeholder in subword.source.placeholders:
        spellings[ord(placeholder)] = segment.copied.get(placeholder, "")
    source_pieces = _shown(subword.source.pieces_of([*segment.ids, EOS]), spellings)
    looks = []
    for hypothesis, label, weights in zip(hypotheses, labels, all_weights, strict=True):
        target_pieces = _shown(subword.target.pieces_of(label), spellings)
        aligned = align_words(subword, segment.ids, hypothesis.tokens, weights)
        alignment = Alignment(
            source=tuple(_shown(aligned.source, spellings)),
            target=tuple(_shown(aligned.target, spellings)),
            pairs=aligned.pairs,
        )
        attention_map = AttentionMap(source=source_pieces, target=target_pieces, weights=weights)
        looks.append(Looks(attention_map=attention_map, alignment=alignment))
    return looks


def _shown(pieces: Sequence[str], spellings: Mapping[int, str]) -> list[str]:
    """Return `pieces` with the text of their placeholders."""
    return [piece.translate(spellings) for piece in pieces]
