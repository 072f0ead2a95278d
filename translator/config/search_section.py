"""The `search` section of a recipe: how a translation is chosen from the model's probabilities."""

from typing import Annotated, Literal

from pydantic import Field

from translator.config.keys import Count, Effect, Name, Place, Section, Seed, rule
from translator.core.hypothesis import SearchSettings


# A new key that changes translations also needs a prefix in evaluation/search_labels.py. Otherwise the results of two
# settings would share a file name. tests/evaluation/test_search_labels.py lists the keys that a label leaves out.
class SearchConfig(Section, effect=Effect.FREE):
    """The search algorithm that chooses a translation from the model's probabilities."""

    method: Literal["greedy", "beam", "sampling"] = "beam"
    """Search: likeliest token at each step, beam, or random sampling; limits on length and repetition hold for all."""
    beam_size: Annotated[int, Field(ge=1, le=1000)] = 5
    """Beam width: hypotheses per sentence with `method: beam`; validation during training is always greedy."""
    length_penalty: Annotated[float, Field(ge=0, le=10)] = 1.0
    """Exponent alpha in `length_normalization`, for all methods' scores; 0: plain sums, which favour short output."""
    length_normalization: Literal["gnmt", "average"] = "gnmt"
    """Divisor (alpha: `length_penalty`): `gnmt` ((5 + length) / 6) ** alpha, `average` length ** alpha."""
    max_length_ratio: Annotated[float, Field(gt=0, le=100)] = 2.0
    """Largest output length in tokens: this multiple of the source length, plus ten."""
    min_length_ratio: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Smallest output length in tokens: this multiple of the source length, rounded down."""
    no_repeat_ngram: Annotated[int, Field(ge=0, le=100)] = 0
    """Forbid any sequence of N tokens from occurring twice in a hypothesis; 0: off."""
    avoid_loops: bool = True
    """Search again, without repeated tokens, where a translation repeats words more often than its source does."""
    split_sentences: bool = True
    """Translate each sentence of a text alone; validation never does, evaluation if asked on its command line."""
    orthography: bool = True
    """Persian output: join affixes by ZWNJ (می روم, کتاب ها), and use a space before auxiliary verbs."""
    correct_spelling: bool = True
    """Replace an English word unseen in training by the frequent word that is one typo away; names and code stay."""
    glossary: Place | None = None
    """TSV file of terms and their translations, which stand in place of the terms (docs/translating.md)."""
    rerank: Place | None = None
    """Run of the other direction; by its probability of the source too, the hypotheses of a beam are ranked."""
    tag: Name | None = "auto"
    """Source with `tag: true` whose style a translation has; `auto`: held-out text has its own; `null`: none."""
    temperature: Annotated[float, Field(ge=0.001, le=100)] = 1.0
    """With `method: sampling`: divisor of the logits; below 1, probable tokens become more probable."""
    top_k: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """With `method: sampling`: sample from the k most probable tokens; 0: from all."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """With `method: sampling`: sample from the fewest tokens whose probabilities sum to `top_p`; 1: from all."""
    seed: Seed = 1
    """Seed of sampling; in float32, the same text and seed give the same translation in any batch."""
    batch_size: Count = 0
    """Most sentences of a batch; fewer if they are long. 0: 64; with torch on a CUDA GPU as many as fit."""
    precision: Literal["auto", "float32", "bf16", "int8"] = "auto"
    """`auto`: int8 where CTranslate2 translates faster with it on a CPU, else float32; `bf16` needs a GPU."""
    processes: Annotated[int, Field(ge=0, le=256)] = 0
    """Translating processes (CTranslate2: threads); 0: as many as are faster for the text (docs/search.md)."""

    @rule("`min_length_ratio` must not exceed `max_length_ratio`")
    def _lengths_are_ordered(self) -> bool:
        """The smallest output length is not above the largest."""
        return self.min_length_ratio <= self.max_length_ratio

    @rule("`rerank` needs `method: beam`")
    def _reranks_hypotheses(self) -> bool:
        """Only a beam has several hypotheses, best first."""
        return self.rerank is None or self.method == "beam"

    @property
    def settings(self) -> SearchSettings:
        """The settings of the core's search; greedy search is a beam of one."""
        return SearchSettings(
            beam_size=self.beam_size if self.method == "beam" else 1,
            length_penalty=self.length_penalty,
            length_normalization=self.length_normalization,
        )
