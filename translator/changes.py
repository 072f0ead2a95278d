"""What it means that a setting changes between two sittings of one run: nothing, another result, or that it cannot."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from translator.config import Config
from translator.prepared import fingerprint_of

Kind = Literal["harmless", "inexact", "impossible"]
"""Always accepted; accepted when asked for, since the run then ends otherwise than it would have; never accepted."""
ALLOW: Final = "--allow-changed"


@dataclass(frozen=True)
class Effect:
    """What becomes of a run when a setting changes."""

    kind: Kind
    why: str = ""
    """For a person; empty where there is nothing to say."""
    moves_batches: bool = False
    """Whether the batches of an epoch become others, so that a place among them means nothing any more."""


_HARMLESS: Final = Effect("harmless")
_SCORED: Final = Effect("harmless", "validation scores are not quite comparable with those from before")
_MACHINE: Final = Effect("harmless", "sums are taken in another order, so the last bits differ from here on")
_PROCESSES: Final = Effect("harmless", "other noise of dropout is drawn, and the last bits differ, from here on")
_START: Final = Effect("harmless", "only a new run starts from it; this one goes on from its own weights")
_STEP: Final = Effect("inexact")
_BEST: Final = Effect("inexact", "the best score so far is forgotten")
_BATCHES: Final = Effect("inexact", "the present epoch begins again", moves_batches=True)
_AVERAGE: Final = Effect("inexact", "the weights are averaged otherwise from here on")
_COSINE: Final = Effect("inexact", "the cosine schedule looks ahead to it")
_CLOCK: Final = Effect("inexact", "cosine and dropout look ahead to it")
_MOMENTS: Final = Effect("impossible", "the moments kept are of another kind; `initialize_from` takes the weights")
_NETWORK: Final = Effect("impossible", "the weights belong to another network")
_PIECES: Final = Effect("impossible", "the weights belong to another vocabulary")
_TEXT: Final = Effect("impossible", "the prepared text and its subword models would be others")

_SOURCE_TEXT: Final = "name source_member target_member max_pairs use invalid_utf8"
_SOURCE_PLACE: Final = "path source_path target_path obtain"  # what lies there is held by the fingerprint of the data
_NORMALIZATION: Final = (
    "mojibake presentation_forms arabic_letters teh_marbuta hamza tatweel vowel_marks digits zero_width zwnj spaces "
    "quotes dashes punctuation_spacing contractions orthography"
)
_FILTERS: Final = (
    "replacement_character max_words max_characters max_length_ratio max_word_ratio min_source_script "
    "min_target_script max_arabic max_untranslated min_number_agreement max_markup max_repetition duplicates "
    "near_duplicates max_same_source max_same_target"
)
_TABLE: Final[tuple[tuple[Effect, str, str], ...]] = (
    (_HARMLESS, "run", "directory"),
    (_MACHINE, "run", "device threads"),
    (_BATCHES, "run", "seed"),
    (_HARMLESS, "corpus", "prepared_directory workers"),
    (_TEXT, "corpus", "sources"),
    (_TEXT, "corpus.sources", _SOURCE_TEXT),
    (_HARMLESS, "corpus.sources", _SOURCE_PLACE),
    (_BATCHES, "corpus.sources", "weight"),
    (_TEXT, "corpus.normalization", _NORMALIZATION),
    (_TEXT, "corpus.filters", _FILTERS),
    (_TEXT, "corpus.split", "method validation test block_size seed"),
    (_PIECES, "subword", "model_type vocabulary_size joint character_coverage byte_fallback"),
    (_PIECES, "subword", "max_training_sentences seed"),
    (_BATCHES, "subword", "sampling"),
    (_BATCHES, "batching", "tokens_per_batch max_length max_sentences temperature"),
    (_NETWORK, "model", "d_model heads encoder_layers decoder_layers feed_forward norm activation"),
    (_NETWORK, "model", "positions max_positions tied_embeddings"),
    (_STEP, "model", "dropout attention_dropout feed_forward_dropout"),
    (_HARMLESS, "training", "max_steps max_minutes max_skipped_updates early_stopping"),
    (_PROCESSES, "training", "processes"),
    (_START, "training", "initialize_from"),
    (_MOMENTS, "training", "optimizer"),
    (_STEP, "training", "accumulation_steps learning_rate warmup_steps beta1 beta2 weight_decay"),
    (_STEP, "training", "schedule schedule_clock"),
    (_STEP, "training", "label_smoothing dropout_from r_drop gradient_clip"),
    (_STEP, "training", "precision attention compile matmul_precision"),
    (_BEST, "training", "best_metric"),
    (_AVERAGE, "training", "ema_decay"),
    (_HARMLESS, "training", "log_every validate_every checkpoint_every sample_translations"),
    (_HARMLESS, "training", "keep_checkpoints keep_best save_in_background"),
    (_SCORED, "training", "validation_sentences"),
    (_SCORED, "search", "method beam_size length_penalty length_normalization max_length_ratio min_length_ratio"),
    (_SCORED, "search", "no_repeat_ngram temperature top_k top_p seed precision"),
    (_HARMLESS, "search", "batch_size processes"),
    (_HARMLESS, "evaluation", "metrics bootstrap_samples rare_below comet_model"),
    # Their text is kept out of the training split.
    (_TEXT, "evaluation", "test_sets"),
    (_TEXT, "evaluation.test_sets", _SOURCE_TEXT),
    (_TEXT, "evaluation.test_sets", "weight"),
    (_HARMLESS, "evaluation.test_sets", _SOURCE_PLACE),
)
EFFECTS: Final = {f"{section}.{key}": effect for effect, section, keys in _TABLE for key in keys.split()}
"""The effect of every key of a recipe; items of a list go by the key of the list, without their number."""


@dataclass(frozen=True)
class Change:
    """One setting that is no longer what it was."""

    key: str
    old: Any
    new: Any
    effect: Effect

    def __str__(self) -> str:
        return f"{self.key}: {_show(self.old)} → {_show(self.new)}"

    @property
    def line(self) -> str:
        """The change and what follows from it, for the log."""
        return f"{self}" + (f" ({self.effect.why})" if self.effect.why else "")


@dataclass(frozen=True)
class Changes:
    """All settings that differ between the last sitting of a run and this one."""

    items: tuple[Change, ...] = ()

    @property
    def lines(self) -> list[str]:
        """One for each change, for the log."""
        return [f"changed since the last sitting: {change.line}" for change in self.items]

    def of_kind(self, kind: Kind) -> list[Change]:
        """Return those whose effect is of `kind`."""
        return [change for change in self.items if change.effect.kind == kind]

    def to_json(self) -> dict[str, Any]:
        """Return old and new value of each key."""
        return {change.key: {"old": change.old, "new": change.new} for change in self.items}

    def refusal(self, folder: Path, *, allow_changed: bool) -> str | None:
        """Return why the run in `folder` cannot go on with these changes; None if it can."""
        impossible = self.of_kind("impossible")
        inexact = [] if allow_changed else self.of_kind("inexact")
        if not impossible and not inexact:
            return None
        lines = [f"{folder} holds a run with other settings (old → new)"]
        for why in dict.fromkeys(change.effect.why for change in impossible):
            lines.append(f"these cannot change in a run, because {why}:")
            lines += [f"  {change}" for change in impossible if change.effect.why == why]
        if inexact:
            lines.append(f"these change what training comes to, and are taken only with {ALLOW}:")
            lines += [f"  {change.line}" for change in inexact]
        way_out = "restore the old settings, or give the new ones a run of their own (run.directory=runs/OTHER)"
        if impossible:
            way_out += f"; with training.initialize_from={folder} it starts from these weights, as far as they fit"
        return "\n".join([*lines, way_out])


NO_CHANGES: Final = Changes()


def compare_settings(old: Config, new: Config) -> Changes:
    """Return what differs between the settings of a run and those it is to go on with."""
    before, after = flatten(old.model_dump(mode="json")), flatten(new.model_dump(mode="json"))
    keys = [*before, *(key for key in after if key not in before)]
    return Changes(
        tuple(
            Change(key, before.get(key), after.get(key), _effect(key, new))
            for key in keys
            if before.get(key) != after.get(key)
        )
    )


def batch_order(config: Config) -> str:
    """Return a fingerprint of the settings that decide which batches an epoch is made of, for one and the same data.

    A checkpoint keeps it beside its place in the data, which means nothing under another one.
    """
    values = flatten(config.model_dump(mode="json"))
    return fingerprint_of({key: value for key, value in values.items() if EFFECTS[_plain(key)].moves_batches})


def _effect(key: str, new: Config) -> Effect:
    training = new.training
    if training.schedule_clock == "minutes" and key in ("training.max_steps", "training.max_minutes"):
        return _CLOCK
    if training.schedule == "cosine" and key == "training.max_steps":
        return _COSINE
    return EFFECTS[_plain(key)]


def _plain(key: str) -> str:
    """Return `corpus.sources.path` for `corpus.sources.0.path`."""
    return ".".join(part for part in key.split(".") if not part.isdigit())


def _show(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Return nested sections and lists as one level of dotted keys; an empty one stays as it is.

    >>> flatten({"run": {"seed": 1}, "corpus": {"sources": [{"name": "mizan"}]}})
    {'run.seed': 1, 'corpus.sources.0.name': 'mizan'}
    """
    items: Iterable[tuple[Any, Any]] | None = None
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    if items is None or not value:
        return {prefix: value}
    flat: dict[str, Any] = {}
    for key, child in items:
        flat |= flatten(child, f"{prefix}.{key}" if prefix else str(key))
    return flat
