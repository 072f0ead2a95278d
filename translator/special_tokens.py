"""The four special tokens and their ids, the same in every vocabulary, file and tensor; the tag of synthetic text."""

from typing import Final

PAD: Final = 0  # fills a row after its last sentence; no token attends to it, and it is never scored
UNK: Final = 1  # a piece outside the vocabulary
SOS: Final = 2  # start of sentence: the first token of every decoder input
EOS: Final = 3  # end of sentence: the last token of every source row and of every label row

SPECIAL_TOKENS: Final[tuple[tuple[str, int], ...]] = (("<pad>", PAD), ("<unk>", UNK), ("<s>", SOS), ("</s>", EOS))
"""Spelling and id of each, in the order of their ids."""

TAG: Final = "\ue010"
"""Tag at the start of back-translated English, a private-use character and one piece (Caswell et al. 2019)."""
