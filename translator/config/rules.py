"""The rules that several keys of a recipe keep together, each a function of just the values it needs."""

from collections.abc import Iterator

from translator.config.section import Mistake, rule


@rule("path", "source_path", "target_path")
def one_layout(path: str | None, source_path: str | None, target_path: str | None) -> Iterator[Mistake]:
    """A corpus is one file, or one file for each language."""
    if (source_path is None) != (target_path is None):
        given, lacking = ("source", "target") if target_path is None else ("target", "source")
        yield (f"{given}_path",), f"`source_path` and `target_path` go together; `{lacking}_path` is missing"
    elif path is None and source_path is None:
        yield ("",), "give either `path` or both `source_path` and `target_path`"
    elif path is not None and source_path is not None:
        yield ("path",), "give either `path` or both `source_path` and `target_path`, not all three"


@rule("source_member", "target_member")
def both_members(source_member: str | None, target_member: str | None) -> Iterator[Mistake]:
    """The members of a zip are named both or not at all."""
    if (source_member is None) != (target_member is None):
        given, lacking = ("source", "target") if target_member is None else ("target", "source")
        yield (f"{given}_member",), f"`source_member` and `target_member` go together; `{lacking}_member` is missing"


@rule("path", "source_member", "target_member")
def members_of_a_zip(path: str | None, source_member: str | None, target_member: str | None) -> Iterator[Mistake]:
    """Members are members of something."""
    if path is None and source_member is not None and target_member is not None:
        yield ("source_member",), "`source_member` and `target_member` name members of a zip given as `path`"


@rule("sources.*.name", "sources.*.use")
def distinct_sources(names: dict[int, str], uses: dict[int, str]) -> Iterator[Mistake]:
    """Sources may share a name only if each goes into another split as a whole."""
    numbers = sorted(names.keys() & uses.keys())
    for name in dict.fromkeys(names[number] for number in numbers):
        alike = [number for number in numbers if names[number] == name]
        their_uses = [uses[number] for number in alike]
        if len(alike) > 1 and ("auto" in their_uses or len(set(their_uses)) < len(alike)):
            reason = f"two sources are called `{name}`; one name may stand once for each split at most"
            yield tuple(f"sources.{number}.name" for number in reversed(alike)), reason


@rule("byte_fallback", "model_type")
def no_bytes_beside_characters(byte_fallback: bool | None, model_type: str) -> Iterator[Mistake]:
    """A model of characters has no bytes to fall back to."""
    if byte_fallback and model_type == "char":
        yield ("byte_fallback", "model_type"), "`byte_fallback: true` does not go with `model_type: char`"


@rule("sampling", "model_type")
def several_segmentations(sampling: float, model_type: str) -> Iterator[Mistake]:
    """Sampling wants words that can be cut in more than one way."""
    if sampling > 0 and model_type == "char":
        reason = (
            f"`sampling` ({sampling}) does not go with `model_type: char`, which cuts a text in one way only; use 0"
        )
        yield ("sampling", "model_type"), reason


@rule("byte_fallback", "vocabulary_size")
def room_for_bytes(byte_fallback: bool | None, vocabulary_size: int) -> Iterator[Mistake]:
    """The bytes, asked for by name, leave room for other pieces."""
    if byte_fallback and vocabulary_size <= 260:
        reason = f"`byte_fallback` takes 256 pieces; raise `vocabulary_size` ({vocabulary_size}) above 260"
        yield ("vocabulary_size", "byte_fallback"), reason


@rule("heads", "d_model")
def heads_divide(heads: int, d_model: int) -> Iterator[Mistake]:
    """Heads are equally wide."""
    if d_model % heads:
        yield ("heads", "d_model"), f"`heads` ({heads}) must divide `d_model` ({d_model})"


@rule("positions", "d_model")
def even_width(positions: str, d_model: int) -> Iterator[Mistake]:
    """Each frequency of the sinusoids takes a sine and a cosine."""
    if positions == "sinusoidal" and d_model % 2:
        yield ("d_model", "positions"), f"`positions: sinusoidal` needs an even `d_model`, not {d_model}"


@rule("positions", "heads", "d_model")
def even_heads(positions: str, heads: int, d_model: int) -> Iterator[Mistake]:
    """What is turned in a head are pairs of columns."""
    if positions == "rotary" and d_model % heads == 0 and d_model // heads % 2:
        reason = f"`positions: rotary` needs an even `d_model / heads`, not {d_model} / {heads} = {d_model // heads}"
        yield ("heads", "d_model", "positions"), reason


@rule("schedule_clock", "schedule", "max_minutes")
def minutes_to_go_by(schedule_clock: str, schedule: str, max_minutes: float | None) -> Iterator[Mistake]:
    """Only a schedule that ends, in a training that is limited by minutes, can end with them."""
    if schedule_clock == "minutes" and schedule != "cosine":
        reason = f"`schedule_clock: minutes` goes with `schedule: cosine`; `{schedule}` has no end"
        yield ("schedule_clock", "schedule"), reason
    elif schedule_clock == "minutes" and max_minutes is None:
        yield ("schedule_clock",), "`schedule_clock: minutes` needs `max_minutes`"


@rule("model.tied_embeddings", "subword.joint")
def tied_only_when_joint(tied_embeddings: str, joint: bool) -> Iterator[Mistake]:
    """One embedding for both languages wants one vocabulary for both."""
    if tied_embeddings == "all" and not joint:
        reason = "`model.tied_embeddings: all` needs `subword.joint: true`, which is false"
        yield ("model.tied_embeddings", "subword.joint"), reason


@rule("batching.max_length", "model.max_positions")
def positions_suffice(max_length: int, max_positions: int) -> Iterator[Mistake]:
    """The model can take the longest sentence of a batch."""
    if max_length > max_positions:
        reason = f"`batching.max_length` ({max_length}) must not exceed `model.max_positions` ({max_positions})"
        yield ("batching.max_length", "model.max_positions"), reason


@rule("tokens_per_batch", "max_length")
def longest_pair_fits(tokens_per_batch: int, max_length: int) -> Iterator[Mistake]:
    """A batch has room for the longest sentence."""
    if tokens_per_batch < max_length:
        reason = f"`tokens_per_batch` ({tokens_per_batch}) must be at least `max_length` ({max_length})"
        yield ("tokens_per_batch", "max_length"), reason


@rule("sources.*.use", "sources.*.weight")
def weights_are_for_training(uses: dict[int, str], weights: dict[int, float]) -> Iterator[Mistake]:
    """A weight says how often a training pair is drawn."""
    for number in sorted(uses.keys() & weights.keys()):
        if uses[number] in ("validation", "test") and weights[number] != 1.0:
            yield (f"sources.{number}.weight",), f"`weight` means nothing with `use: {uses[number]}`; leave it out"


@rule("evaluation.test_sets.*.use", "evaluation.test_sets.*.weight")
def test_sets_are_for_testing(uses: dict[int, str], weights: dict[int, float]) -> Iterator[Mistake]:
    """Nothing of a further test set is trained on, so it has neither a use nor a weight."""
    for number in sorted(uses.keys() & weights.keys()):
        for key, set_ in (("use", uses[number] != "auto"), ("weight", weights[number] != 1.0)):
            if set_:
                yield (f"evaluation.test_sets.{number}.{key}",), f"`{key}` means nothing in a test set; leave it out"


@rule("corpus.sources.*.name", "evaluation.test_sets.*.name")
def distinct_test_sets(sources: dict[int, str], test_sets: dict[int, str]) -> Iterator[Mistake]:
    """A further test set has a name of its own, since scores and translations are kept under it."""
    taken = {name: f"corpus.sources.{number}" for number, name in sources.items()}
    for number, name in test_sets.items():
        if name in taken:
            key = f"evaluation.test_sets.{number}.name"
            yield (key,), f"`{name}` is taken; choose another name ({taken[name]} has it)"
        taken.setdefault(name, f"evaluation.test_sets.{number}")


@rule("min_length_ratio", "max_length_ratio")
def lengths_leave_room(min_length_ratio: float, max_length_ratio: float) -> Iterator[Mistake]:
    """The shortest output is not longer than the longest."""
    if min_length_ratio > max_length_ratio:
        reason = f"`min_length_ratio` ({min_length_ratio:g}) exceeds `max_length_ratio` ({max_length_ratio:g})"
        yield ("min_length_ratio", "max_length_ratio"), reason
