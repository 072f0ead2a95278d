"""Subword training depends only on text and settings, reports errors in either, and is done once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from subword.sentences import ENGLISH, PERSIAN, make_corpus, pieces, unigram, vocabulary
from toy import write_pairs

from translator.config import CorpusConfig, FilterConfig, SourceConfig
from translator.corpus.prepare import prepare_corpus
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.errors import CorpusError, StorageError, SubwordError
from translator.subword import SubwordModel, SubwordPair, prepare_subword, uses_byte_fallback
from translator.subword.training import draw_lines, train_model


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("digits", ["1398", "۱۳۹۸", "١٣٩٨"])
def test_every_digit_is_a_piece_of_its_own(tmp_path: Path, digits: str, kind: str) -> None:
    text = [f"سال {digits} بود"] * 50 + PERSIAN * 5
    model = SubwordModel.train(text, unigram(vocabulary_size=65, model_type=kind), tmp_path / "t.model")
    assert all(sum(character.isdigit() for character in piece) <= 1 for piece in vocabulary(model))
    assert [piece.lstrip("▁") for piece in pieces(model, digits) if piece != "▁"] == list(digits)
    assert model.decode_ids(model.encode(text[:1])) == text[:1]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_digits_and_punctuation_are_in_the_vocabulary_however_rare(tmp_path: Path, kind: str) -> None:
    config = unigram(model_type=kind, vocabulary_size=60, character_coverage=0.99)
    model = SubwordModel.train([*PERSIAN * 40, "۷ (5) Q"], config, tmp_path / "m.model")
    known = set("".join(vocabulary(model)[4:]))
    assert set("۷(5)؟") <= known
    assert "Q" not in known, "a letter as rare is left out"
    assert "8" not in known, "a digit that does not occur takes no room"


def test_byte_fallback_is_on_by_default_only_for_large_vocabularies() -> None:
    for kind, size, setting, expected in (
        ("unigram", 1000, None, True),
        ("unigram", 999, None, False),
        ("char", 8000, None, False),
        ("unigram", 8000, False, False),
        ("bpe", 300, True, True),
    ):
        assert uses_byte_fallback(unigram(model_type=kind, vocabulary_size=size, byte_fallback=setting)) is expected


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_training_twice_gives_the_same_bytes_and_prints_nothing(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    one, two = (train_model(PERSIAN * 5, unigram(model_type=kind), name) for name in ("one", "two"))
    assert one == two
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_too_large_a_vocabulary_is_refused_naming_the_largest_value(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "target.model"
    with pytest.raises(
        SubwordError, match=r"subword\.vocabulary_size: 5000 .* target model .* value is \d+$"
    ) as caught:
        SubwordModel.train(PERSIAN, unigram(model_type=kind, vocabulary_size=5000), path)
    assert not path.exists()
    largest = int(str(caught.value).rpartition(" ")[2])
    model = SubwordModel.train(PERSIAN, unigram(model_type=kind, vocabulary_size=largest), path)
    assert model.vocabulary_size == largest


def test_vocabulary_size_is_an_upper_limit_for_char_models(tmp_path: Path) -> None:
    model = SubwordModel.train(["ab ba"], unigram(model_type="char", vocabulary_size=5000), tmp_path / "s.model")
    assert model.vocabulary_size == 4 + len("ab▁")


def test_errors_in_the_settings_or_the_text_are_reported() -> None:
    def broken() -> Iterator[str]:
        yield "one"
        raise CorpusError("line 2 of pairs.tsv is broken")

    with pytest.raises(
        SubwordError, match=r"subword\.vocabulary_size: 10 is too small .* need 42 pieces; .* value is 42$"
    ):
        train_model(PERSIAN, unigram(vocabulary_size=10), "target")
    with pytest.raises(SubwordError, match="no text to train the source subword model on"):
        train_model([], unigram(), "source")
    with pytest.raises(CorpusError, match=r"^line 2 of pairs\.tsv is broken$"):
        train_model(broken(), unigram(), "source")


def test_damage_after_the_last_drawn_line_is_detected(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path)
    path = corpus.directory / "train" / "pairs.en"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StorageError, match=r"pairs\.en is damaged"):
        list(draw_lines(corpus, "train", "en", 1, 1))
    path.unlink()
    with pytest.raises(StorageError, match=rf"pairs\.en is damaged .*; delete the folder {corpus.directory} and run"):
        prepare_subword(unigram(), corpus, tmp_path / "prepared")
    assert not list((tmp_path / "prepared").glob("*subword-*"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


def test_lines_are_drawn_in_order_and_alike_on_every_machine(corpus: PreparedCorpus) -> None:
    everything = list(corpus.lines("train", "pairs", "en"))
    drawn = {seed: [everything.index(line) for line in draw_lines(corpus, "train", "en", 6, seed)] for seed in (1, 2)}
    assert drawn == {1: [9, 36, 39, 61, 75, 93], 2: [49, 64, 84, 86, 97, 141]}
    assert list(draw_lines(corpus, "train", "en", 1000, 1)) == everything


@pytest.mark.parametrize("joint", [False, True])
def test_models_are_trained_once_and_then_reused(tmp_path: Path, corpus: PreparedCorpus, joint: bool) -> None:
    config = unigram(joint=joint, vocabulary_size=120 if joint else 60)
    pair, folder = prepare_subword(config, corpus, tmp_path)
    assert folder.parent == tmp_path and folder.name.startswith("subword-")
    assert (pair.source is pair.target) is pair.joint is joint
    files = ["joint.model"] if joint else ["source.model", "target.model"]
    assert sorted(pair.sha256) == files
    stamp = (folder / files[0]).stat().st_mtime_ns
    again, same_folder = prepare_subword(config, corpus, tmp_path)
    assert same_folder == folder and again.sha256 == pair.sha256
    assert (folder / files[0]).stat().st_mtime_ns == stamp
    folded = ENGLISH if joint else [text.lower() for text in ENGLISH]  # a joint model keeps case
    for model, texts in ((pair.source, folded), (pair.target, PERSIAN)):
        assert model.decode_ids(model.encode(texts)) == texts
    loaded = SubwordPair.load(folder)
    assert loaded.joint is joint and loaded.sha256 == pair.sha256


def test_a_case_folding_model_encodes_all_cases_alike(tmp_path: Path, corpus: PreparedCorpus) -> None:
    pair, folder = prepare_subword(unigram(case="fold"), corpus, tmp_path)
    text = "The children of Łódź can read: ÉCOLE, می‌روم."
    for model in (pair.source, SubwordPair.load(folder).source):
        assert model.encode([text.upper()]) == model.encode([text.title()]) == model.encode([text.lower()])
        sampler = model.sampler(0.5, "seed")
        assert sampler.sample([text], ["1"]) == sampler.sample([text.upper()], ["1"])
    kept, other = prepare_subword(unigram(case="keep"), corpus, tmp_path)
    assert other != folder and kept.source.encode([text.upper()]) != kept.source.encode([text])


def test_folder_name_changes_only_with_settings_that_change_the_models(tmp_path: Path, corpus: PreparedCorpus) -> None:
    def folder(**changes: Any) -> Path:
        return prepare_subword(unigram(**changes), corpus, tmp_path)[1]

    # `null` means `byte_fallback: false` with so few pieces, and `case: fold` for separate models.
    assert folder() == folder(sampling=0.1) == folder(byte_fallback=False) == folder(case="fold")
    changes: list[dict[str, Any]] = [{"seed": 2}, {"max_training_sentences": 100}, {"model_type": "bpe"}]
    assert len({folder(), *(folder(**change) for change in changes), folder(vocabulary_size=61)}) == 5


@pytest.mark.parametrize("joint", [False, True])
def test_training_text_is_limited_in_size_and_drawn_by_seed(tmp_path: Path, joint: bool) -> None:
    # Each line has a character of its own, so the vocabulary tells which lines were drawn.
    pairs = [(f"{chr(0x0100 + 2 * number)} a", f"{chr(0x0E01)}{chr(0x1200 + number)} b") for number in range(60)]
    sources = tuple(
        SourceConfig(name=name, path=str(write_pairs(tmp_path / f"{name}.tsv", own)), use="train")
        for name, own in (("a", pairs[:40]), ("b", pairs[40:]))
    )
    filters = FilterConfig(min_source_script=None, min_target_script=None)
    corpus = prepare_corpus(CorpusConfig(sources=sources, prepared_directory=str(tmp_path / "p"), filters=filters))

    def drawn(seed: int) -> tuple[set[str], set[str]]:
        config = unigram(model_type="char", max_training_sentences=10, seed=seed, joint=joint, vocabulary_size=200)
        pair, _ = prepare_subword(config, corpus, tmp_path / "prepared")
        known = set(vocabulary(pair.source)) | set(vocabulary(pair.target))
        return {x for x in known if "\u0100" <= x < "\u0200"}, {x for x in known if "\u1200" <= x < "\u1300"}

    english, persian = drawn(1)
    assert len(english) == len(persian) == (5 if joint else 10)
    assert min(persian) < chr(0x1200 + 40) <= max(persian), "lines of both sources"
    assert drawn(2) != (english, persian)


def test_the_models_do_not_depend_on_the_number_of_processes(tmp_path: Path, corpus: PreparedCorpus) -> None:
    one, two = (prepare_subword(unigram(), corpus, tmp_path / str(workers), workers)[1] for workers in (1, 2))
    assert [file.read_bytes() for file in sorted(one.iterdir())] == [
        file.read_bytes() for file in sorted(two.iterdir())
    ]
    with pytest.raises(SubwordError, match="5000 is more than the training text allows for the source model"):
        prepare_subword(unigram(vocabulary_size=5000), corpus, tmp_path / "2")
    assert len(list((tmp_path / "2").glob("*subword-*"))) == 1
