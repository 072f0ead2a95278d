"""The core: a whole translator on token ids, as a textbook has it, and the code that runs.

It imports torch, numpy and itself only. Other forms of its parts, which are faster, safer or broader, stand in other
rooms, and a test says that each is equal. What is fast by its idea alone stays here: rows of several sentences, whole
batches by numpy, the cache of a search and its back-pointers. Read the files in this order:

    batch, packing, masks                       rows of several sentences, and who may attend to whom
    positions, attention, layers, transformer   the network
    loss, optimizer, update, loop               training
    cache, hypothesis, search                   translation

docs/the-core.md trains and translates with it in forty lines. This file has what all the others share: the ids of the
special tokens, the same in every vocabulary, file and tensor.
"""

from typing import Final

PAD: Final = 0  # fills a row after its last sentence; no token attends to it, and it is never scored
UNK: Final = 1  # a piece outside the vocabulary
SOS: Final = 2  # start of sentence: the first token of every decoder input
EOS: Final = 3  # end of sentence: the last token of every source row and of every label row

SPECIAL_TOKENS: Final[tuple[tuple[str, int], ...]] = (("<pad>", PAD), ("<unk>", UNK), ("<s>", SOS), ("</s>", EOS))
"""Spelling and id of each, in the order of their ids."""

TAG: Final = "\ue010"
"""Tag at the start of back-translated English, a private-use character and one piece (Caswell et al. 2019)."""
