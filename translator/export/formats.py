"""The formats a model can be exported to, and what each of them can say."""

from typing import Final, Literal, get_args

from translator.config import ModelConfig
from translator.errors import InputError

Format = Literal["ctranslate2", "marian", "safetensors"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)

QUANTIZATIONS: Final[dict[Format, tuple[str, ...]]] = {
    "ctranslate2": ("float32", "float16", "bfloat16", "int16", "int8"),
    "marian": ("float32", "float16", "bfloat16"),
    "safetensors": ("float32",),
}
"""The types that weights can be stored in, the first one being the default."""


def check_format(name: str, quantization: str | None, config: ModelConfig) -> tuple[Format, str]:
    """Return the format called `name` and the type of its weights, where it can say a model of `config`.

    Args:
        name: one of `FORMATS`.
        quantization: one of `QUANTIZATIONS`; None takes the format's first.
        config: of the model.

    Raises:
        InputError: there is no such format or type, or the format has no words for this model; the message says which
            setting of the recipe is in the way, and what to do.
    """
    if name not in FORMATS:
        raise InputError(f"cannot export to `{name}`; choose one of: {', '.join(FORMATS)}")
    chosen = FORMATS[FORMATS.index(name)]
    types = QUANTIZATIONS[chosen]
    if quantization is not None and quantization not in types:
        others = [other for other in FORMATS if quantization in QUANTIZATIONS[other]]
        hint = f"; `{quantization}` is a type of: {', '.join(others)}" if others else ""
        raise InputError(f"{chosen} cannot hold weights as `{quantization}`; choose one of: {', '.join(types)}{hint}")
    obstacles = marian_obstacles(config) if chosen == "marian" else []
    if obstacles:
        raise InputError(
            "the Marian format of Hugging Face has no words for this model: "
            + "; ".join(obstacles)
            + ". Export it to ctranslate2 or safetensors, which can say every model; or train one with model.norm: "
            "post, model.activation: relu or gelu, model.positions: sinusoidal"
        )
    return chosen, quantization or types[0]


def marian_obstacles(config: ModelConfig) -> list[str]:
    """Return, for each setting that Hugging Face's Marian cannot say, which one it is and why."""
    found = []
    if config.norm != "post":
        found.append(f"model.norm is `{config.norm}`, and Marian has its LayerNorm after each residual sum (`post`)")
    if config.activation == "swiglu":
        found.append("model.activation is `swiglu`, and Marian has no gated feed-forward layer")
    if config.positions != "sinusoidal":
        found.append(f"model.positions is `{config.positions}`, and Marian computes its sinusoids anew when it loads")
    return found
