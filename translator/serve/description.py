"""What the server says of its model; nothing of it tells where on the machine anything lies."""

import platform
from importlib import metadata

from translator import __version__
from translator.inference import AttentiveSearcher, Translator
from translator.serve.limits import Limits
from translator.serve.schema import Model, ServedLimits


def describe(translator: Translator, limits: Limits) -> Model:
    """Return what `/api/model` says."""
    return Model(
        name=translator.label,
        checkpoint=translator.checkpoint_name,
        engine=translator.searcher.name,
        search=translator.search.model_dump(mode="json"),
        attention=isinstance(translator.searcher, AttentiveSearcher),
        limits=ServedLimits(
            characters=limits.characters,
            lines=limits.lines,
            translations=limits.most_translations(translator.search),
            seconds=limits.seconds,
        ),
        versions={"translator": __version__, "python": platform.python_version(), "torch": metadata.version("torch")},
    )
