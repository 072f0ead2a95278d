"""Validation on one process and on several gives the same numbers, and all stop together."""

import contextlib
import copy
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from toy import letters, write_pairs

from translator.config import Config, parse_config
from translator.data import DataHandler
from translator.device import Arithmetic
from translator.evaluation import compute_scores
from translator.inference import TorchSearcher, Translator
from translator.model import Transformer
from translator.special_tokens import PAD
from translator.training import validation as room
from translator.training.ranks import Ranks
from translator.training.teacher_forcing import TeacherForcing
from translator.training.validation import Validation, Validator, sentence_to_draw

RECIPE = """
run: {{directory: "{folder}/run", seed: 1, device: cpu, threads: 1}}
corpus:
  sources: [{{name: words, path: "{folder}/words.tsv"}}, {{name: others, path: "{folder}/others.tsv"}}]
  filters: {{min_target_script: null, max_untranslated: null}}
  split: {{validation: 40, test: 10}}
  prepared_directory: "{folder}/prepared"
subword: {{model_type: char, vocabulary_size: 60}}
batching: {{tokens_per_batch: 60, max_length: 40}}
model:
  {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 32, dropout: 0.1, max_positions: 64}}
training: {{validation_sentences: 30, sample_translations: 3}}
search: {{method: greedy, max_length_ratio: 1.0}}
"""


class StopError(Exception):
    """Stands in for a stop signal."""


class ThreadRanks(Ranks):
    """A rank that is a thread of this process; a rank that waits for the others in vain fails."""

    def __init__(self, rank: int, world: int, barrier: threading.Barrier, shared: list[Any]) -> None:
        self.rank, self.world, self.local_rank = rank, world, rank
        self._barrier, self._shared = barrier, shared

    def _all(self, value: Any) -> list[Any]:
        self._shared[self.rank] = value
        self._barrier.wait(120)
        everybody = list(self._shared)
        self._barrier.wait(120)
        return everybody

    def any(self, flag: bool) -> bool:
        return any(self._all(flag))

    def sum(self, values: Sequence[float]) -> list[float]:
        return [sum(column) for column in zip(*self._all(list(values)), strict=True)]

    def gather_text(self, text: str) -> list[str]:
        return self._all(text)


class Setting:
    """A corpus of two sources, and an untrained model for each rank."""

    def __init__(self, folder: Path) -> None:
        write_pairs(folder / "words.tsv", [(word, word) for word in letters(150, seed=1)])
        write_pairs(folder / "others.tsv", [(word, word[::-1]) for word in letters(150, seed=2)])
        self.config: Config = parse_config(RECIPE.format(folder=folder), "recipe.yaml", ())
        self.data = DataHandler(self.config)
        torch.manual_seed(0)
        subword = self.data.subword
        self._model = Transformer(self.config.model, subword.source.vocabulary_size, subword.target.vocabulary_size)

    def model(self) -> Transformer:
        return copy.deepcopy(self._model)

    def validate(self, ranks: Ranks, check: Callable[[], None], **arguments: Any) -> Validation:
        model, cpu = self.model(), torch.device("cpu")
        searcher = TorchSearcher([model], cpu)
        translator = Translator(searcher, self.data.subword, self.data.normalizer, self.config.search, 40)
        arithmetic = Arithmetic(cpu, "float32")
        validator = Validator(self.data, translator, self.config.training, arithmetic, check, ranks)
        try:
            return validator.validate(TeacherForcing(model, 0.1, 0.0, packed=True), **arguments)
        finally:
            assert model.training

    def together(self, world: int, check: Callable[[Ranks], None]) -> list[Validation | BaseException]:
        """Validate in as many threads; return what came of each."""
        barrier, shared = threading.Barrier(world), [None] * world
        results: list[Validation | BaseException] = [StopError()] * world

        def member(rank: int) -> None:
            ranks = ThreadRanks(rank, world, barrier, shared)
            try:
                results[rank] = self.validate(ranks, lambda: check(ranks))
            except (StopError, threading.BrokenBarrierError) as error:
                results[rank] = error
            except BaseException:
                barrier.abort()
                raise

        threads = [threading.Thread(target=member, args=(rank,)) for rank in range(world)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    return Setting(tmp_path_factory.mktemp("validation"))


@pytest.fixture(autouse=True)
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LINES_AT_ONCE", 4)
    monkeypatch.setattr(room, "FEWEST_OF_A_SOURCE", 12)


def test_losses_are_those_of_all_pairs(setting: Setting) -> None:
    found = setting.validate(Ranks.alone(), lambda: None)
    model = setting.model().eval()
    total: dict[str, list[float]] = {}
    first = setting.data.corpus.count("validation", setting.data.corpus.names("validation")[0])
    with torch.no_grad():
        for batch in setting.data.validation_batches():
            logits = model(batch.source, batch.target_input)
            for row, number in enumerate(batch.indices.tolist()):
                loss = F.cross_entropy(logits[row], batch.labels[row], ignore_index=PAD, reduction="sum").item()
                name = setting.data.corpus.names("validation")[int(number >= first)]
                of_source = total.setdefault(name, [0.0, 0.0])
                of_source[0] += loss
                of_source[1] += int((batch.labels[row] != PAD).sum())
    loss = sum(losses for losses, _ in total.values()) / sum(tokens for _, tokens in total.values())
    assert found.scores["loss"] == pytest.approx(loss, rel=1e-5)
    assert found.scores["perplexity"] == pytest.approx(math.exp(loss), rel=1e-4)
    assert set(total) == set(found.by_source) == {"words", "others"}
    for name, (losses, tokens) in total.items():
        assert found.by_source[name]["loss"] == pytest.approx(losses / tokens, rel=1e-5)
    assert found.loss_by_length


def test_scores_are_those_of_the_translated_lines(setting: Setting) -> None:
    found = setting.validate(Ranks.alone(), lambda: None)
    assert len(found.samples) == 3
    searcher = TorchSearcher([setting.model().eval()], torch.device("cpu"))
    translator = Translator(searcher, setting.data.subword, setting.data.normalizer, setting.config.search, 40)
    for pair in found.samples:
        assert pair.hypothesis == translator.translate(pair.source)
    names = setting.data.corpus.names("validation")
    lines = [
        list(zip(*(setting.data.corpus.lines("validation", name, side) for side in ("en", "fa")), strict=True))
        for name in names
    ]
    assert sum(map(len, lines)) == 80
    # 30 of the 80 pairs are translated, spread evenly: number k is pair round(k * 79 / 29).
    chosen = [round(place * 79 / 29) for place in range(30)]
    own = [number for number in chosen if number < len(lines[0])]
    outputs = translator.translate_lines([lines[0][number][0] for number in own])
    scores = compute_scores(outputs, [lines[0][number][1] for number in own], metrics=("bleu", "chrf"))
    assert found.by_source[names[0]]["chrf"] == pytest.approx(scores[1].score)
    assert found.scores["chrf"] != found.by_source[names[0]]["chrf"]


@pytest.mark.parametrize("world", [2, 3, 9])
def test_several_ranks_find_what_one_finds(setting: Setting, world: int) -> None:
    alone = setting.validate(Ranks.alone(), lambda: None)
    for found in setting.together(world, lambda ranks: None):
        assert found == alone


@pytest.mark.parametrize("at", [0, 1, 5, 9])
def test_a_signal_at_one_rank_stops_all(setting: Setting, at: int) -> None:
    """Rank 1 hears of it at its check number `at`; no rank is left waiting."""
    asked = [0, 0]

    def check(ranks: Ranks) -> None:
        asked[ranks.rank] += 1
        if ranks.sum([float(ranks.rank == 1 and asked[1] > at)])[0]:
            raise StopError

    results = setting.together(2, check)
    assert [type(result) for result in results] == [StopError, StopError]
    assert asked == [at + 1, at + 1]


def test_all_ranks_check_equally_often(setting: Setting) -> None:
    asked = [0] * 3

    def check(ranks: Ranks) -> None:
        asked[ranks.rank] += 1

    setting.together(3, check)
    assert len(set(asked)) == 1
    assert asked[0] >= 4


def test_the_sentence_that_is_drawn_can_be_read() -> None:
    long, first, second = "a b " * 20, "one two three four five six seven", "a b c d e f g h i"
    assert sentence_to_draw(["Yes.", long, first, second]) == first
    assert sentence_to_draw([long, "Yes."]) == "Yes."
    assert sentence_to_draw([]) is None


def test_averaged_weights_are_there_for_losses_and_translations(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[str] = []
    seen: list[tuple[str, bool]] = []

    @contextlib.contextmanager
    def averaged() -> Iterator[None]:
        inside.append("averaged")
        yield
        inside.clear()

    for name in ("_losses", "_translate"):
        work = getattr(Validator, name)

        def watched(validator: Validator, given: Any, name: str = name, work: Any = work) -> Any:
            seen.append((name, bool(inside)))
            return work(validator, given)

        monkeypatch.setattr(Validator, name, watched)
    setting.validate(Ranks.alone(), lambda: None, weights=averaged())
    assert seen == [("_losses", True), ("_translate", True)]
    assert not inside
