"""CTranslate2: a model in its specification, and the search engine that computes with it."""

import importlib
import inspect
import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from translator.config import ModelConfig, SearchConfig
from translator.data import collate_source
from translator.errors import ConfigError, InputError
from translator.inference.searcher import Check, Searcher
from translator.model import Transformer
from translator.model.embedding import Embedding
from translator.run.workers import available_cores
from translator.search import Hypothesis, Rows, check_count, length_penalty, output_lengths
from translator.special_tokens import EOS, PAD, SOS, SPECIAL_TOKENS, UNK
from translator.subword import SubwordModel, SubwordPair

_SPELLING: Final = {token: spelling for spelling, token in SPECIAL_TOKENS}
_CPU: Final = torch.device("cpu")
_TOKENS_AT_ONCE: Final = 2_048  # target tokens of a batch that is scored: each takes logits for the whole vocabulary


def require(name: str) -> Any:
    """Return the module `name` of CTranslate2; an InputError gives the command to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        command, library = 'pip install "ctranslate2>=4.5,<5"', name.partition(".")[0]
        raise InputError(f"{library} cannot be imported ({error}); install it with: {command}") from error


# --- the model ---


@torch.no_grad()
def write_ctranslate2(
    folder: Path, model: Transformer, config: ModelConfig, subword: SubwordPair, quantization: str = "float32"
) -> None:
    """Write a model for CTranslate2 into `folder`, which exists; InputError says that the library cannot express it."""
    spec = _empty_spec(config)
    stacks: Sequence[tuple[Any, Any, Any, Embedding]] = (
        (spec.encoder, spec.encoder.embeddings[0], model.encoder, model.source_embedding),
        (spec.decoder, spec.decoder.embeddings, model.decoder, model.target_embedding),
    )
    for stack_spec, embedding_spec, stack, embedding in stacks:
        embedding_spec.weight = _array(embedding.tokens.weight)
        if embedding.positions.table is not None:  # CTranslate2 would lay out sinusoids in another order
            stack_spec.position_encodings.encodings = _array(embedding.positions.table)
        for layer_spec, layer in zip(stack_spec.layer, stack.layers, strict=True):
            _set_layer(layer_spec, layer)
        if config.norm == "pre":
            _set([stack_spec.layer_norm], stack.norm)
    spec.decoder.projection.weight = _array(model.head_weight)
    spec.register_source_vocabulary(_pieces_of(subword.source))
    spec.register_target_vocabulary(_pieces_of(subword.target))
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = (
        _SPELLING[token] for token in (UNK, SOS, EOS)
    )
    spec.config.decoder_start_token = _SPELLING[SOS]
    spec.config.add_source_eos = True
    (spec.config.layer_norm_epsilon,) = {module.eps for module in model.modules() if isinstance(module, nn.LayerNorm)}
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))


def _empty_spec(config: ModelConfig) -> Any:
    specs, stacks = require("ctranslate2.specs"), require("ctranslate2.specs.transformer_spec")
    encoder, decoder, kinds = stacks.TransformerEncoderSpec, stacks.TransformerDecoderSpec, specs.Activation
    shared: dict[str, Any] = {
        "pre_norm": config.norm == "pre",
        "activation": {"relu": kinds.RELU, "gelu": kinds.GELU, "swiglu": kinds.SWISH}[config.activation],
        "ffn_glu": config.activation == "swiglu",
    }
    if config.positions == "rotary":  # all columns of a head, by pairs of neighbours
        if "rotary_dim" not in inspect.signature(encoder.__init__).parameters:
            lacking = f"the encoder of CTranslate2 {require('ctranslate2').__version__} lacks"
            advice = 'install a newer one: pip install --upgrade "ctranslate2<5"'
            raise InputError(f"model.positions is `rotary`, which {lacking}; {advice}")
        shared["rotary_dim"] = config.d_model // config.heads
    return specs.TransformerSpec(
        encoder(config.encoder_layers, config.heads, **shared),
        decoder(config.decoder_layers, config.heads, **shared, alignment_layer=-1, alignment_heads=config.heads),
    )


def _set_layer(spec: Any, layer: Any) -> None:
    """Set a layer of either stack; fused projections have the same order on both sides."""
    own, feed_forward = layer.self_attention, layer.feed_forward
    _set([spec.self_attention.layer_norm], layer.self_attention_residual.norm)
    _set(spec.self_attention.linear, own.query_key_value, own.output)
    if hasattr(layer, "cross_attention"):
        cross = layer.cross_attention
        _set([spec.attention.layer_norm], layer.cross_attention_residual.norm)
        _set(spec.attention.linear, cross.query, cross.key_value, cross.output)
    _set([spec.ffn.layer_norm], layer.feed_forward_residual.norm)
    _set([spec.ffn.linear_0, spec.ffn.linear_1], feed_forward.inner, feed_forward.outer)
    if feed_forward.activation == "swiglu":  # the gate, which is activated, and then the value
        gate, value = spec.ffn.linear_0, spec.ffn.linear_0_noact
        (gate.weight, value.weight), (gate.bias, value.bias) = np.split(gate.weight, 2), np.split(gate.bias, 2)


def _set(specs: Sequence[Any], *modules: Any) -> None:
    for spec, module in zip(specs, modules, strict=True):
        names = ("gamma", "beta") if isinstance(module, nn.LayerNorm) else ("weight", "bias")
        for name, tensor in zip(names, (module.weight, module.bias), strict=True):
            setattr(spec, name, _array(tensor))


def _array(tensor: Tensor) -> Any:
    """Return a copy as a NumPy array: quantizing works in place, and the model must stay as it is."""
    return tensor.detach().float().cpu().numpy().copy()


def _pieces_of(model: SubwordModel) -> list[str]:
    return model.pieces_of(range(model.vocabulary_size))


# --- the engine ---


class Ctranslate2Searcher(Searcher):
    """Searches with what `write_ctranslate2` has written; any number of threads may use one.

    Each hypothesis is scored once more by teacher forcing, since CTranslate2 leaves forbidden tokens out of the
    distribution and forced ones out of the sum. On a CPU each of the `workers` has one thread; 0 means one for each
    core. A ConfigError says that this machine does not compute in `compute_type`.
    """

    name = "ctranslate2"
    batches_at_once = 16

    def __init__(
        self,
        folder: Path,
        subword: SubwordPair,
        max_positions: int,
        device: torch.device = _CPU,
        compute_type: str = "float32",
        workers: int = 0,
    ) -> None:
        library = require("ctranslate2")
        supported = library.get_supported_compute_types(device.type)
        if compute_type not in supported:
            problem = f"cannot compute in {compute_type} on this machine's {device.type}"
            advice = f"only in: {', '.join(sorted(supported))}; choose another search.precision, or --engine torch"
            raise ConfigError(f"ctranslate2 {problem}, {advice}")
        on_gpu = device.type == "cuda"
        self._workers = 1 if on_gpu else workers or available_cores()
        self._model: Any = library.Translator(
            str(folder),
            device=device.type,
            device_index=device.index or 0,
            compute_type=compute_type,
            inter_threads=self._workers,
            intra_threads=0 if on_gpu else 1,
        )
        self.arithmetic = str(device)
        self.max_positions = max_positions
        self._source, self._target = _pieces_of(subword.source), _pieces_of(subword.target)
        self._ids = {piece: token for token, piece in enumerate(self._target)}

    def take_attention_from(self, load: Callable[[], Searcher]) -> None:
        """Let `load` give the engine that computes attention; it is called once, when attention is asked for."""
        self._load, self.gives_attention = load, True

    def cross_attention(self, rows: Rows, labels: Rows) -> list[npt.NDArray[np.float32]]:
        """Return the weights of the engine that gives attention (see `Searcher.cross_attention`)."""
        if self.gives_attention:
            return self._with_attention.cross_attention(rows, labels)
        return super().cross_attention(rows, labels)

    @cached_property
    def _with_attention(self) -> Searcher:
        return self._load()

    def find(
        self, rows: Rows, config: SearchConfig, count: int = 1, prefixes: Rows | None = None, check: Check | None = None
    ) -> list[list[Hypothesis]]:
        """Return hypotheses for each row (see `Searcher.find`); of a row without a token the empty one."""
        check_count(config, count)
        if config.method == "sampling":
            advice = "not on search.seed alone; use --engine torch, or beam or greedy search"
            problem = "its draws depend on the other sentences of a batch"
            raise ConfigError(
                f"search.method is `sampling`, which the engine ctranslate2 cannot repeat: {problem}, {advice}"
            )
        self._check_lengths(rows)
        if not rows:
            return []
        lengths = output_lengths(collate_source(rows), config, self.max_positions, prefixes)
        shortest, limits = (of_rows.tolist() for of_rows in lengths)
        found: list[list[Hypothesis]] = [[] for _ in rows]
        # CTranslate2 has one longest length for a whole call. All rows are searched up to that of the longest one;
        # rows with a hypothesis beyond their own limit are searched once more, together with rows of the same limit.
        pending, maxima = list(range(len(rows))), [max(limits)] * len(rows)
        while pending:
            calls = defaultdict[tuple[int, int], list[int]](list)
            for number in pending:
                calls[shortest[number], maxima[number]].append(number)
            started: list[tuple[int, Any]] = []
            for (minimum, maximum), numbers in calls.items():
                forced = None if prefixes is None else [prefixes[number] for number in numbers]
                results = self._start([rows[number] for number in numbers], config, minimum, maximum, forced)
                started += zip(numbers, results, strict=True)
            for number, waiting in started:
                result = waiting.result()
                scored_pieces = zip(result.hypotheses, result.scores, strict=True)
                found[number] = [self._hypothesis(*one, config) for one in scored_pieces]
            beyond = [n for n in pending if any(len(one.tokens) + one.finished > limits[n] for one in found[n])]
            pending, maxima = [n for n in beyond if maxima[n] > limits[n]], limits
        best = [sorted(hypotheses, key=_rank)[:count] for hypotheses in found]
        sources = [row for row, hypotheses in zip(rows, best, strict=True) for _ in hypotheses]
        scored = iter(self._scored(sources, list(itertools.chain(*best)), config))
        return [sorted(itertools.islice(scored, len(hypotheses)), key=_rank) for hypotheses in best]

    def score(self, rows: Rows, targets: Rows) -> list[Hypothesis]:
        """Return what the model gives each target (see `Searcher.score`)."""
        self._check_lengths([*rows, *targets])
        given = [Hypothesis(tuple(target), 0.0, 0.0, True) for target in targets]
        return self._scored(rows, given, SearchConfig())

    def _check_lengths(self, rows: Rows) -> None:
        longest = max((len(row) + 1 for row in rows), default=0)
        if longest > self.max_positions:
            advice = "split the sentence, or train with a larger model.max_positions"
            known = f"the {self.max_positions} positions that this model knows"
            raise InputError(f"a sequence of {longest} tokens is longer than {known}; {advice}")

    def _start(
        self, rows: Rows, config: SearchConfig, shortest: int, longest: int, prefixes: Rows | None
    ) -> Sequence[Any]:
        """Start a search, and return what waits for the result of each row."""
        width = config.beam_size if config.method == "beam" else 1
        found: Sequence[Any] = self._model.translate_batch(
            _spelt(self._source, rows),
            None if prefixes is None else _spelt(self._target, prefixes),
            max_batch_size=min(config.batch_size, -(-len(rows) // self._workers)),
            asynchronous=True,
            beam_size=width,
            patience=2,  # a beam of W ends after 2 W hypotheses, nearly as ours does (docs/export.md)
            num_hypotheses=width,
            length_penalty=config.length_penalty,
            no_repeat_ngram_size=config.no_repeat_ngram,
            disable_unk=True,
            suppress_sequences=[[_SPELLING[PAD]], [_SPELLING[SOS]]],
            return_end_token=True,  # and so it counts in lengths, as it does with us
            return_scores=True,
            max_input_length=0,
            max_decoding_length=longest,
            min_decoding_length=max(0, shortest - 1),
        )
        return found

    def _hypothesis(self, pieces: Sequence[str], score: float, config: SearchConfig) -> Hypothesis:
        finished = not pieces or pieces[-1] == _SPELLING[EOS]  # an empty row gets no pieces
        tokens = tuple(self._ids[piece] for piece in (pieces[:-1] if finished else pieces))
        tokens = tokens[: self.max_positions - 1]  # scoring adds EOS, for which there must be a position
        total = score * max(1, len(pieces)) ** config.length_penalty
        return Hypothesis(tokens, total, total / length_penalty(len(tokens) + finished, config), finished)

    def _scored(self, rows: Rows, found: Sequence[Hypothesis], config: SearchConfig) -> list[Hypothesis]:
        results = self._model.score_batch(
            _spelt(self._source, rows),
            _spelt(self._target, [one.tokens for one in found]),
            max_batch_size=_TOKENS_AT_ONCE,
            batch_type="tokens",
            max_input_length=0,
        )
        return [
            Hypothesis.from_tokens(one.tokens, result.log_probs[: len(one.tokens) + one.finished], one.finished, config)
            for one, result in zip(found, results, strict=True)
        ]


def _spelt(pieces: Sequence[str], rows: Rows) -> list[list[str]]:
    return [[pieces[token] for token in row] for row in rows]


def _rank(one: Hypothesis) -> tuple[bool, float]:
    """Return what sorts hypotheses best first, as our own search ranks them: those that finished before all others."""
    return not one.finished, -one.normalized_score
