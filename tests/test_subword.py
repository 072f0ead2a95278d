"""Subword models: what survives, what is refused, and that training is a function of text and settings alone."""

import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import CorpusConfig, SourceConfig, SplitConfig, SubwordConfig
from translator.corpus.prepare import PreparedCorpus, prepare_corpus
from translator.errors import CorpusError, StorageError, SubwordError
from translator.special_tokens import EOS, PAD, SOS, UNK
from translator.subword import SubwordModel, SubwordPair, prepare_subword

PERSIAN = [
    "او نمی‌خواهد کتاب‌های قدیمی را بفروشد.",
    "بچه‌ها در خانه‌ی ما بازی می‌کنند.",
    "من می‌روم و او می‌ماند.",
    "آن‌ها می‌گویند که هوا سردتر شده‌است.",
    "آیا می‌توانی این نامه‌ها را بخوانی؟",
    "سال ۱۳۹۸ و ۲۰۲۴ و ۷۵۶",
    "خواهرم نمی‌داند که کتاب‌هایش کجاست.",
    "می‌خواهم نان بخرم، اما پول ندارم.",
]
ENGLISH = [
    "She does not want to sell the old books.",
    "The children are playing in our house.",
    "I go and he stays.",
    "They say that it has become colder.",
    "Can you read these letters?",
    "The years 1398 and 2024 and 756",
    "My sister does not know where her books are.",
    "I want to buy bread, but I have no money.",
]
ZWNJ = "\u200c"


def unigram(**changes: object) -> SubwordConfig:
    """Return settings that the few sentences above allow."""
    return SubwordConfig.model_validate({"vocabulary_size": 60, "character_coverage": 1.0, **changes})


@pytest.fixture(scope="module", params=["unigram", "bpe", "char"])
def persian(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SubwordModel:
    """Return a model of each type, trained on the Persian sentences many times over."""
    path = tmp_path_factory.mktemp("subword") / "target.model"
    return SubwordModel.train(PERSIAN * 20, unigram(model_type=request.param), path)


def make_corpus(folder: Path, copies: int = 20) -> PreparedCorpus:
    """Return a corpus of numbered variants of the sentences above, prepared in `folder`."""
    lines = [
        f"{english} {number}\t{persian} {number}\n"
        for number in range(copies)
        for english, persian in zip(ENGLISH, PERSIAN, strict=True)
    ]
    file = folder / "pairs.tsv"
    file.write_text("".join(lines), "utf-8")
    source = SourceConfig(name="pairs", path=str(file))
    split = SplitConfig(validation=8, test=8)
    return prepare_corpus(CorpusConfig(sources=(source,), split=split, prepared_directory=str(folder / "prepared")))


def pieces(model: SubwordModel, text: str) -> list[str]:
    return model.pieces_of(model.encode([text])[0])


def test_a_sentence_with_zwnj_survives_the_round_trip(persian: SubwordModel) -> None:
    assert persian.decode_ids(persian.encode(PERSIAN)) == PERSIAN
    for sentence in PERSIAN:
        assert "".join(pieces(persian, sentence)) == "▁" + sentence.replace(" ", "▁")


def test_zwnj_can_stand_inside_a_piece(tmp_path: Path) -> None:
    model = SubwordModel.train(PERSIAN * 20, unigram(model_type="bpe", vocabulary_size=80), tmp_path / "t.model")
    inside = [piece for piece in model.pieces_of(range(model.vocabulary_size)) if ZWNJ in piece.strip(ZWNJ)]
    assert any(piece.startswith("▁") for piece in inside), "no word with a half-space became a piece"


def test_repeated_zwnj_and_shaped_letters_are_left_to_the_normalizer(persian: SubwordModel, tmp_path: Path) -> None:
    # nfkc alone keeps both ZWNJ, and makes an Arabic kaf (not the Persian one) of a shaped kaf.
    assert "".join(pieces(persian, "می" + ZWNJ * 2 + "روم")) == "▁می" + ZWNJ * 2 + "روم"
    shaped, plain = "\ufedb\u062a\u0627\u0628", "\u0643\u062a\u0627\u0628"
    arabic = SubwordModel.train([plain], unigram(model_type="char"), tmp_path / "arabic.model")
    assert "".join(pieces(arabic, shaped)) == "▁" + plain


@pytest.mark.parametrize("digits", ["1398", "۱۳۹۸", "١٣٩٨"])
def test_every_digit_is_a_piece_of_its_own(tmp_path: Path, digits: str) -> None:
    for kind in ("unigram", "bpe"):
        path = tmp_path / f"{kind}.model"
        text = [f"سال {digits} بود"] * 50 + PERSIAN * 5
        model = SubwordModel.train(text, unigram(vocabulary_size=65, model_type=kind), path)
        vocabulary = model.pieces_of(range(model.vocabulary_size))
        assert all(sum(character.isdigit() for character in piece) <= 1 for piece in vocabulary)
        assert [piece.lstrip("▁") for piece in pieces(model, digits) if piece != "▁"] == list(digits)
        assert model.decode_ids(model.encode(text[:1])) == text[:1]


def test_special_tokens_have_their_ids_and_never_come_from_text(persian: SubwordModel) -> None:
    assert persian.pieces_of([PAD, UNK, SOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
    ids = persian.encode(["<pad> <s> </s> <unk> می‌روم"])[0]
    assert not {PAD, SOS, EOS} & set(ids)


def test_special_ids_are_dropped_and_unknown_ones_shown(persian: SubwordModel) -> None:
    ids = persian.encode([PERSIAN[2]])[0]
    assert persian.decode_ids([[SOS, *ids, EOS, PAD, PAD], [], [PAD]]) == [PERSIAN[2], "", ""]
    assert persian.decode_ids(persian.encode(["من 漢 می‌روم"])) == ["من ⁇ می‌روم"]


def test_empty_and_blank_texts_have_no_ids(persian: SubwordModel) -> None:
    assert persian.encode(["", "   ", PERSIAN[0]])[:2] == [[], []]
    assert persian.encode([]) == []


@settings(deadline=None, max_examples=60)
@given(words=st.lists(st.text("ابپتسمنوهیکگ۰۱۲۹" + ZWNJ, min_size=1, max_size=8), min_size=1, max_size=6))
def test_any_text_of_known_characters_survives(words: list[str]) -> None:
    text = " ".join(words)
    assert KNOWN.decode_ids(KNOWN.encode([text])) == [unicodedata.normalize("NFKC", text)]


def _known_model() -> SubwordModel:
    """Return a character model that knows the alphabet of the test above."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        text = [" ".join("ابپتسمنوهیکگ۰۱۲۹" + ZWNJ)]
        return SubwordModel.train(text, unigram(model_type="char"), Path(folder) / "known.model")


KNOWN = _known_model()


def test_byte_fallback_leaves_nothing_unknown(tmp_path: Path) -> None:
    config = unigram(byte_fallback=True, vocabulary_size=320)
    model = SubwordModel.train(PERSIAN * 20, config, tmp_path / "target.model")
    text = "من 漢字 😀 می‌روم"
    assert UNK not in model.encode([text])[0]
    assert model.decode_ids(model.encode([text])) == [text]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_training_twice_gives_the_same_bytes(tmp_path: Path, kind: str) -> None:
    for name in ("one", "two"):
        SubwordModel.train(PERSIAN * 5, unigram(model_type=kind), tmp_path / f"{name}.model")
    assert (tmp_path / "one.model").read_bytes() == (tmp_path / "two.model").read_bytes()


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_vocabulary_larger_than_the_text_allows_names_the_largest_value(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "target.model"
    with pytest.raises(
        SubwordError, match=r"subword\.vocabulary_size: 5000 .* target model .* value is \d+$"
    ) as caught:
        SubwordModel.train(PERSIAN, unigram(model_type=kind, vocabulary_size=5000), path)
    assert not path.exists()
    largest = int(str(caught.value).rpartition(" ")[2])
    model = SubwordModel.train(PERSIAN, unigram(model_type=kind, vocabulary_size=largest), path)
    assert model.vocabulary_size == largest


def test_vocabulary_size_is_only_a_limit_for_characters(tmp_path: Path) -> None:
    model = SubwordModel.train(["ab ba"], unigram(model_type="char", vocabulary_size=5000), tmp_path / "s.model")
    assert model.vocabulary_size == 4 + len("ab▁")


def test_vocabulary_smaller_than_the_alphabet_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(SubwordError, match=r"subword\.vocabulary_size: 10 is too small .* need \d+ pieces; raise it"):
        SubwordModel.train(PERSIAN, unigram(vocabulary_size=10), tmp_path / "target.model")


def test_no_text_is_a_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(SubwordError, match="no text to train the source subword model on"):
        SubwordModel.train([], unigram(), tmp_path / "source.model")


def test_an_error_of_the_text_itself_is_passed_on_unchanged(tmp_path: Path) -> None:
    def broken() -> Iterator[str]:
        yield "one"
        raise CorpusError("line 2 of pairs.tsv is broken")

    with pytest.raises(CorpusError, match=r"line 2 of pairs\.tsv is broken"):
        SubwordModel.train(broken(), unigram(), tmp_path / "source.model")


def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        SubwordError, match=rf"no subword model at .*source\.model; take it .* or delete the folder {tmp_path}"
    ):
        SubwordPair.load(tmp_path)


def test_an_unreadable_model_file_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "joint.model").mkdir()
    with pytest.raises(StorageError, match=r"cannot read .*joint\.model: this is a folder"):
        SubwordPair.load(tmp_path)


def test_a_truncated_model_is_refused_at_every_length(tmp_path: Path) -> None:
    SubwordModel.train(PERSIAN * 5, unigram(vocabulary_size=50), tmp_path / "whole.model")
    content = (tmp_path / "whole.model").read_bytes()
    cut = tmp_path / "cut.model"
    for length in {0, 1, 100, *range(200, 1200), len(content) // 2}:
        cut.write_bytes(content[:length])
        with pytest.raises(SubwordError, match=r"cut\.model(:| is) (empty|damaged|its normalization rule|pad, unk)"):
            SubwordModel.load(cut)


def _foreign_model(path: Path, **options: Any) -> None:
    """Train a model as another tool would."""
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(PERSIAN * 5), model_writer=file, vocab_size=60, minloglevel=2, **options
        )


def test_a_model_with_other_special_ids_is_refused(tmp_path: Path) -> None:
    _foreign_model(tmp_path / "joint.model", normalization_rule_name="nfkc")
    with pytest.raises(SubwordError, match="have the ids -1, 0, 1, 2; they must be 0, 1, 2, 3"):
        SubwordPair.load(tmp_path)


@pytest.mark.parametrize("rule", ["nmt_nfkc", "identity"])
def test_a_model_with_another_rule_is_refused(tmp_path: Path, rule: str) -> None:
    ids = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}
    _foreign_model(tmp_path / "joint.model", normalization_rule_name=rule, **ids)
    with pytest.raises(SubwordError, match="its normalization rule is not `nfkc`"):
        SubwordPair.load(tmp_path)


def test_separate_models_are_trained_once_and_found_again(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path)
    pair, folder = prepare_subword(unigram(), corpus, tmp_path / "prepared")
    assert folder.parent == tmp_path / "prepared" and folder.name.startswith("subword-")
    assert sorted(pair.sha256) == ["source.model", "target.model"] and not pair.joint
    stamp = (folder / "source.model").stat().st_mtime_ns
    again, same_folder = prepare_subword(unigram(), corpus, tmp_path / "prepared")
    assert same_folder == folder and again.sha256 == pair.sha256
    assert (folder / "source.model").stat().st_mtime_ns == stamp
    assert pair.source.decode_ids(pair.source.encode(ENGLISH)) == ENGLISH
    assert pair.target.decode_ids(pair.target.encode(PERSIAN)) == PERSIAN
    other, other_folder = prepare_subword(unigram(vocabulary_size=61), corpus, tmp_path / "prepared")
    assert other_folder != folder and other.source.vocabulary_size == 61


def test_a_joint_model_is_one_object_that_knows_both_languages(tmp_path: Path) -> None:
    pair, folder = prepare_subword(unigram(joint=True, vocabulary_size=120), make_corpus(tmp_path), tmp_path / "p")
    assert pair.source is pair.target and pair.joint
    assert list(pair.sha256) == ["joint.model"] and (folder / "joint.model").exists()
    both = ENGLISH + PERSIAN
    assert pair.source.decode_ids(pair.source.encode(both)) == both
    loaded = SubwordPair.load(folder)
    assert loaded.joint and loaded.sha256 == pair.sha256


def test_training_text_is_bounded_and_spread_over_the_corpus(tmp_path: Path) -> None:
    # Only the last tenth of the corpus holds a Q: a sample of the first lines would not know it.
    lines = [f"line {number} {'Q' if number >= 90 else ''}\tخط {number}\n" for number in range(100)]
    (tmp_path / "a.tsv").write_text("".join(lines), "utf-8")
    source = SourceConfig(name="a", path=str(tmp_path / "a.tsv"), use="train")
    corpus = prepare_corpus(CorpusConfig(sources=(source,), prepared_directory=str(tmp_path / "prepared")))
    config = unigram(model_type="char", max_training_sentences=10)
    pair, _ = prepare_subword(config, corpus, tmp_path / "prepared")
    vocabulary = pair.source.pieces_of(range(pair.source.vocabulary_size))
    assert "Q" in vocabulary
    assert "0" not in vocabulary  # one line in ten: 9, 19, 29…
    few, _ = prepare_subword(unigram(model_type="char", max_training_sentences=2), corpus, tmp_path / "prepared")
    assert few.source.vocabulary_size < pair.source.vocabulary_size


def test_a_model_that_was_exchanged_is_recognised(tmp_path: Path) -> None:
    _, folder = prepare_subword(unigram(), make_corpus(tmp_path), tmp_path / "prepared")
    shutil.copy(folder / "source.model", folder / "target.model")
    with pytest.raises(SubwordError, match=r"target\.model is not the model that was trained .* prepare again"):
        SubwordPair.load(folder)
    (folder / "subword.json").write_text("{}", "utf-8")
    with pytest.raises(
        SubwordError, match=rf"subword\.json is damaged; take it from a backup, or delete the folder {folder} and"
    ):
        SubwordPair.load(folder)


def test_damaged_training_text_is_no_mistake_of_the_trainer(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path)
    (corpus.directory / "train" / "pairs.en").unlink()
    with pytest.raises(StorageError, match=rf"pairs\.en is damaged .*; delete the folder {corpus.directory} and run"):
        prepare_subword(unigram(), corpus, tmp_path / "prepared")
    assert not list((tmp_path / "prepared").glob("*subword-*"))


def test_training_says_nothing_but_its_progress(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    SubwordModel.train(PERSIAN * 5, unigram(), tmp_path / "target.model")
    assert capfd.readouterr() == ("", "")
