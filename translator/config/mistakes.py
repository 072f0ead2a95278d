"""Describe the mistakes of a recipe: each with its place, its key, what is wrong, and the nearest known key."""

import difflib
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from translator.config.document import Document, KeyPath, dotted
from translator.config.keys import effects, show_value
from translator.config.sections import Config

_EXPECTED: Final = {
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "model_type": "a section of keys",
    "too_short": "a list with at least one item",
}
"""The expected value in YAML terms, by pydantic error type."""
_OTHER_NAMES: Final = {
    "run.directory": "output_dir model_dir save_dir save_model",
    "run.seed": "random_seed",
    "run.device": "use_cuda use_gpu gpus",
    "corpus.prepared_directory": "data_dir destdir cache_dir",
    "corpus.workers": "num_workers num_proc",
    "subword.vocabulary_size": "vocab_size src_vocab_size tgt_vocab_size bpe_size voc_limit",
    "subword.joint": "share_vocab joined_dictionary joint_vocab",
    "batching.tokens_per_batch": "batch_size max_tokens mini_batch per_device_train_batch_size train_batch_size",
    "batching.max_length": "max_len max_seq_len max_seq_length max_sent_length max_source_length src_seq_length",
    "model.d_model": "hidden_size hidden_dim dim_emb embed_dim embedding_dim rnn_size word_vec_size",
    "model.heads": "num_heads nhead n_heads attention_heads num_attention_heads transformer_heads",
    "model.encoder_layers": "num_layers layers n_layers num_hidden_layers enc_layers enc_depth num_encoder_layers",
    "model.decoder_layers": "num_layers layers n_layers num_hidden_layers dec_layers dec_depth num_decoder_layers",
    "model.feed_forward": "ff_size ffn_dim d_ff transformer_ff dim_feedforward intermediate_size transformer_dim_ffn",
    "model.dropout": "dropout_rate dropout_prob hidden_dropout_prob",
    "model.tied_embeddings": "share_embeddings share_all_embeddings tie_word_embeddings tied_embeddings_all",
    "training.max_steps": "epochs max_epochs num_epochs num_train_epochs after_epochs train_steps max_update",
    "training.accumulation_steps": "update_freq accum_count gradient_accumulation_steps optimizer_delay",
    "training.processes": "world_size num_gpus nproc_per_node",
    "training.learning_rate": "lr learn_rate",
    "training.schedule": "lr_scheduler lr_scheduler_type scheduling decay_method",
    "training.warmup_steps": "warmup lr_warmup warmup_updates num_warmup_steps",
    "training.beta2": "adam_beta2 betas adam_betas",
    "training.gradient_clip": "clip_norm max_grad_norm clip_grad_norm",
    "training.ema_decay": "ema exponential_smoothing average_decay",
    "training.precision": "fp16 bf16 amp mixed_precision model_dtype",
    "training.log_every": "log_interval logging_steps logging_freq report_every disp_freq",
    "training.validate_every": "eval_steps eval_every valid_steps valid_freq validation_freq validate_interval_updates",
    "training.checkpoint_every": "save_steps save_every save_freq save_interval_updates save_checkpoint_steps",
    "training.keep_checkpoints": "keep_checkpoint save_total_limit keep_last_epochs",
    "training.early_stopping": "patience early_stopping_patience",
    "search.beam_size": "beam beams num_beams beam_width",
    "search.length_penalty": "lenpen alpha length_alpha beam_alpha",
    "search.batch_size": "batch_size eval_batch_size per_device_eval_batch_size",
}
"""Names that other toolkits give to our keys."""
_UNION_MEMBER: Final = re.compile(r"literal\[.*\]|constrained-(int|float)|int|float")
"""Names that pydantic gives to the members of a union."""


def explain(details: Sequence[Mapping[str, Any]], document: Document, ignored: Sequence[str] = ()) -> list[str]:
    """Return one line for each key with mistakes: its place in `document`, its path, and all that is wrong with it.

    Args:
        details: the errors that pydantic found, each with the path of its key as `loc`.
        document: the values, and the place of each.
        ignored: types of errors that have no line.
    """
    # 1. The sections and lists that have mistakes inside. pydantic drops invalid items and may then call their list too
    # short, so a mistake of such a list itself is not reported.
    paths_with_inner_mistakes: set[KeyPath] = set()
    for detail in details:
        path: KeyPath = detail["loc"]
        paths_with_inner_mistakes.update(path[:end] for end in range(len(path)))

    # 2. The reasons by key. A value of a union type, such as `int | "auto"`, has a reason for each member of the union.
    reasons: dict[KeyPath, list[str]] = {}
    for detail in details:
        path = detail["loc"]
        if detail["type"] in ignored:
            continue
        if detail["type"] == "rules":  # our own rules: `path` is their section
            for keys, reason in detail["ctx"]["mistakes"]:
                conflicting = [(*path, *_key_path(key)) for key in keys]
                reasons.setdefault(document.to_blame(conflicting), []).append(reason)
        elif path in paths_with_inner_mistakes:
            continue
        elif detail["type"] == "extra_forbidden":
            reasons.setdefault(path, []).append(_describe_unknown(path))
        else:
            reasons.setdefault(_without_union_member(path), []).append(_describe(detail))

    # 3. A line for each key. Its reasons are alternatives: what each type of a union, or each rule, would accept.
    lines = []
    for path, descriptions in reasons.items():
        key = f"{dotted(path)}: " if path else ""
        lines.append(f"{document.place(path)}: {key}{'; or: '.join(descriptions)}")
    return lines


def _key_path(key: str) -> KeyPath:
    """Return the path of a dotted key; its numbers are list indices."""
    return tuple(int(part) if part.isdecimal() else part for part in key.split("."))


def _without_union_member(path: KeyPath) -> KeyPath:
    """Return `path` without the name of a union's member, which pydantic appends to the key."""
    if path and isinstance(path[-1], str) and _UNION_MEMBER.fullmatch(path[-1]):
        return path[:-1]
    return path


def _describe(detail: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, in words of YAML."""
    kind: str = detail["type"]  # of mistake
    value = detail["input"]
    if kind == "missing":
        return "this key is required"
    if kind == "model_type" and value is None:
        return "this section is empty; give it keys or leave it out"

    # What pydantic expects, without its "Input should be".
    expected = _EXPECTED.get(kind) or re.sub(r"^(Input|String) should (be|have) ", "", detail["msg"])
    expected = re.sub(r"^(greater|less) ", r"a number \1 ", expected)

    # What it got.
    if isinstance(value, list):
        return f"expected {expected}, got a list"
    if isinstance(value, dict):
        return f"expected {expected}, got a section"
    # YAML reads `name: 5` as a number and `name: no` as false.
    hint = "; put it in quotes" if kind == "string_type" and value is not None else ""
    return f"expected {expected}, got {show_value(value)}{hint}"


def _describe_unknown(path: KeyPath) -> str:
    """Return what is wrong with a key that no section has."""
    # Keys of a section have no list indices.
    names = [part for part in path[:-1] if isinstance(part, str)]
    prefix = "".join(f"{name}." for name in names)
    return "unknown key" + _nearest(prefix, str(path[-1]))


@functools.lru_cache(maxsize=1000)  # an unknown key may be in each item of a long list
def _nearest(prefix: str, unknown: str) -> str:
    """Return a hint that names the keys which were probably meant in the section `prefix`, or lists its keys.

    `prefix` is the dotted path of the section with a dot at its end, such as `model.`; "" is the top of the recipe.
    """
    # 1. The names of the keys in the section, and the paths of all keys of a recipe, by name.
    siblings = []
    paths_by_name: dict[str, list[str]] = {}
    for path, _ in effects(Config):
        name = path.rpartition(".")[2]
        paths_by_name.setdefault(name, []).append(path)
        if path == prefix + name:
            siblings.append(name)

    # 2. The paths that may be meant: by another toolkit's name, the same name in another section, or the most similar
    # name. A key of the same section is likelier to be meant, so it may be less similar than one elsewhere (cutoff).
    meant = _called_by_others(unknown) or paths_by_name.get(unknown, [])
    if not meant:
        meant = difflib.get_close_matches(unknown, siblings, n=1, cutoff=0.6)
    if not meant:
        similar_names = difflib.get_close_matches(unknown, list(paths_by_name), n=1, cutoff=0.8)
        meant = paths_by_name[similar_names[0]] if similar_names else []

    # 3. The hint.
    if not meant:
        return f"; keys of this section: {', '.join(siblings)}"
    keys = [f"`{path.removeprefix(prefix)}`" for path in meant]
    return f"; did you mean {' or '.join(keys)}?"


def _called_by_others(name: str) -> list[str]:
    """Return the paths of the keys that other toolkits call `name`."""
    spelling = name.lower().replace("-", "_")
    return [path for path, names in _OTHER_NAMES.items() if spelling in names.split()]
