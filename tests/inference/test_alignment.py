"""Word alignment by attention, checked with given pieces and weights."""

from pathlib import Path

import numpy as np
import yaml

from translator.inference.alignment import AttentionMap, align_words

EXAMPLES = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"))


def test_words_are_aligned_across_segments_by_the_attention_of_their_pieces() -> None:
    example = EXAMPLES["alignment"]
    maps = []
    for source, target, weights in example["maps"]:
        maps.append(AttentionMap(source, target, np.array(weights, np.float32)))
    alignment = align_words(maps)
    assert alignment.source == example["source"]
    assert alignment.target == example["target"]
    assert [list(pair) for pair in alignment.pairs] == example["pairs"]
    assert [[list(share) for share in shares] for shares in alignment.shares] == example["shares"]
