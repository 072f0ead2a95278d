"""The section `search` of a recipe."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from translator.config import rules
from translator.config.section import PositiveInt, Rule, Section


class SearchConfig(Section):
    """How a sequence is picked from the model's probabilities."""

    rules: ClassVar[tuple[Rule, ...]] = (rules.lengths_leave_room,)

    method: Literal["greedy", "beam", "sampling"] = "beam"
    """Algorithm: the likeliest token at every step, the likeliest of several sequences, or tokens drawn at random."""
    beam_size: Annotated[int, Field(ge=1, le=1000)] = 5
    """Hypotheses kept per sentence by beam search."""
    length_penalty: Annotated[float, Field(ge=0, le=10)] = 1.0
    """Alpha, the strength of the length penalty; 0 compares plain sums, which favours short hypotheses."""
    length_normalization: Literal["gnmt", "average"] = "gnmt"
    """What scores are divided by: ((5 + length) / 6) ** alpha (Wu et al. 2016 §7), or length ** alpha."""
    max_length_ratio: Annotated[float, Field(gt=0, le=100)] = 2.0
    """Longest output, as a multiple of the source's tokens, ten tokens added."""
    min_length_ratio: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Shortest output, as a multiple of the source's tokens, rounded down; none ends before unless it must."""
    no_repeat_ngram: Annotated[int, Field(ge=0, le=100)] = 0
    """No sequence of so many tokens comes twice in a hypothesis; 0 allows it."""
    temperature: Annotated[float, Field(gt=0, le=100)] = 1.0
    """Logits are divided by it before tokens are drawn; below 1 the likely become likelier."""
    top_k: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Tokens are drawn from the so many likeliest; 0 takes all."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Tokens are drawn from the fewest likeliest that have so much probability together (Holtzman et al. 2020 §3.1)."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    """Of the tokens that are drawn; the same text with the same seed comes out the same, whatever stands beside it."""
    batch_size: PositiveInt = 64
    """Sentences searched together."""
    precision: Literal["float32", "bf16", "int8"] = "float32"
    """Of the model while it translates; bf16 needs a processor that has it, int8 is of the CPU."""
    processes: Annotated[int, Field(ge=0, le=1024)] = 0
    """Processes that translate together; 0 chooses: one for little text or a GPU, on a CPU else one for each core."""
