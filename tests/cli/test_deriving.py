"""The verbs that build on a trained run: what they take over, what they make, what they reuse, what they refuse."""

import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import compare_with_few_draws, draw_nothing
from tiny_runs import run
from toy import letters, write_pairs

from translator.checkpoint.state import find_checkpoint, read_state
from translator.cli import main
from translator.config import Config, SourceConfig, load_config, parse_config
from translator.corpus.derived import corpus_of_run, write_best, write_synthetic
from translator.data import DataHandler
from translator.evaluation.metrics import sentence_bleu
from translator.inference.exported import is_export
from translator.inference.translator import Translator
from translator.recipes.corpus_recipe import CorpusSize
from translator.recipes.distillation import plan_distillation
from translator.recipes.fine_tuning import plan_fine_tuning
from translator.run.folder import RunFolder
from translator.run.locks import hold_folder
from translator.run.made_files import MadeFiles
from translator.special_tokens import TAG
from translator.subword import SubwordPair

RECIPE = """
run: {{directory: "{folder}/{direction}", threads: 1, device: cpu}}
corpus:
  direction: {direction}
  sources: [{{name: toy, path: "{folder}/toy.tsv"}}]
  prepared_directory: "{folder}/prepared"
  split: {{validation: 10, test: 10}}
  filters: {{max_length_ratio: null, max_word_ratio: null, max_repetition: null}}
subword: {{vocabulary_size: 60, model_type: char, byte_fallback: false}}
model: {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 32, max_positions: 64,
  attention_dropout: 0.1, feed_forward_dropout: 0.1}}
batching: {{max_length: 64, tokens_per_batch: 512}}
training: {{max_steps: 4, warmup_steps: 2, validate_every: 4, checkpoint_every: 4, sample_translations: 1}}
search: {{method: beam, beam_size: 3, avoid_loops: false}}
evaluation: {{bootstrap_samples: 40}}
"""
SHORT = ("training.max_steps=4", "training.validate_every=2", "training.checkpoint_every=2")
TO_PERSIAN = str.maketrans("abcdefghxyz", "ابپتجچحخدذر")


@pytest.fixture(scope="module", autouse=True)
def little_effort() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        compare_with_few_draws(patch)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, `en-fa` and `fa-en`, and text that they have not seen."""
    folder = tmp_path_factory.mktemp("chains")
    texts = [" ".join(letters(3, seed)) for seed in range(150)]
    write_pairs(folder / "toy.tsv", [(text, text.translate(TO_PERSIAN)) for text in texts])
    for direction in ("en-fa", "fa-en"):
        run(parse_config(RECIPE.format(folder=folder, direction=direction), "toy.yaml"))
    new = [" ".join(letters(3, seed, "abcxyz")) for seed in range(500, 560)]
    write_pairs(folder / "new.tsv", [(text, text.translate(TO_PERSIAN)) for text in new])
    return folder


def of(folder: Path, name: str) -> Config:
    return RunFolder.open(folder / name).config()


def fine_tune(folder: Path, *more: str, corpus: str = "new.tsv", output: str = "tuned") -> int:
    where = ["--run", str(folder / "en-fa"), "--corpus", str(folder / corpus), "--output", str(folder / output)]
    return main(["fine-tune", *where, *more, "--set", *SHORT])


def test_fine_tuning_inherits_settings_and_compares_scores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--run", str(folder / "en-fa")]) == 0
    scored = (scores := folder / "en-fa" / "evaluation" / "scores.json").read_bytes()
    assert fine_tune(folder) == 0
    said = capsys.readouterr().out
    old, new = of(folder, "en-fa"), of(folder, "tuned")
    models = [SubwordPair.load(RunFolder(folder / name).subword_folder) for name in ("en-fa", "tuned")]
    assert models[0].sha256 == models[1].sha256, "no piece starts afresh"
    assert new.training.learning_rate == old.training.learning_rate / 3
    assert new.training.best_metric == load_config("fine-tune").training.best_metric != old.training.best_metric
    off = dict.fromkeys(("dropout", "attention_dropout", "feed_forward_dropout"), 0.0)
    assert new.model == old.model.model_copy(update=off) and min(getattr(old.model, key) for key in off) > 0
    assert new.search == old.search and new.batching == old.batching
    log = (folder / "tuned" / "log.txt").read_text(encoding="utf-8")
    assert "source embedding: all" in log and "newly initialized" not in log
    before, after = corpus_of_run(old), corpus_of_run(new)
    assert list(after.pairs("test", "toy")) == list(before.pairs("test", "toy")), "scores are comparable"
    assert list(after.pairs("train", "toy")) == list(before.pairs("train", "toy")), "what was held out stays so"
    assert after.count("validation", "toy") == after.count("validation", "new") == 3
    draws = {row.name: row.drawn for row in DataHandler(new).prepare().mixture}
    assert draws["toy"] / sum(draws.values()) == pytest.approx(0.8, abs=0.02)
    (rows,) = re.findall(r"test set +metric +en-fa +tuned +difference +p\n-+\n((?:\w+ .*\n){4})", said)
    assert [row.split()[:2] for row in rows.splitlines()] == [[x, y] for x in ("new", "toy") for y in ("bleu", "chrf")]
    assert (folder / "tuned" / "evaluation" / "report.html").is_file()
    assert scores.read_bytes() == scored, "the evaluation of the parent stays"


def test_replayed_text_samples_each_source_by_its_weight(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "translator.recipes.fine_tuning._REPLAYED_PAIRS", 1
    )  # so as many pairs as there are new ones: 60, then 64
    assert fine_tune(folder, output="sample") == 0
    old, replayed = ([*corpus_of_run(of(folder, name)).pairs("train", "toy")] for name in ("en-fa", "sample"))
    assert replayed == [pair for row, pair in enumerate(old) if row % 13 in range(0, 12, 2)], "60 of 130, evenly spaced"
    third = [(f"{one} {other}", f"{one} {other}".translate(TO_PERSIAN)) for one in "abcdefgh" for other in "abcdefgh"]
    write_pairs(folder / "third.tsv", third)
    assert fine_tune(folder, "--run", str(folder / "sample"), corpus="third.tsv", output="again") == 0
    mixture = {row.name: row for row in DataHandler(of(folder, "again")).prepare().mixture}
    assert (mixture["new"].pairs, mixture["toy"].pairs) == (13, 51), "in their proportion in the run before"
    shares = [mixture[name].drawn / sum(row.drawn for row in mixture.values()) for name in ("new", "toy")]
    assert shares == pytest.approx([0.8 * 0.2, 0.8 * 0.8], abs=0.02)


def test_fine_tuning_again_reuses_its_recipe_and_refuses_other_settings(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fine_tune(folder) == 0
    capsys.readouterr()
    assert fine_tune(folder) == 0
    said = capsys.readouterr().out
    assert "exists and is reused" in said and "is finished" in said
    recipe = folder / "tuned.yaml"
    recipe.write_text(recipe.read_text(encoding="utf-8").replace("log_every: 20", "log_every: 10"), encoding="utf-8")
    assert fine_tune(folder) == 0, "a recipe that its user has changed is taken"
    assert fine_tune(folder, "--replay", "0.2") == 2
    assert "was made with other settings; give --output another folder" in capsys.readouterr().err
    assert fine_tune(folder, "--replay", "0.9999999") == 2
    assert "--replay 0.9999999: the share must be at least 0 and at most 0.99" in capsys.readouterr().err


def test_the_plan_of_a_fine_tuning_follows_the_size_of_the_new_text(folder: Path, tmp_path: Path) -> None:
    parent = RunFolder.open(folder / "en-fa")
    corpus = corpus_of_run(parent.config())
    new = SourceConfig(name="new", path=str(folder / "new.tsv"))
    updates = {}
    for words in (1_000, 1_000_000):
        size = CorpusSize(pairs=words // 10, words=words, distinct_words=100)
        plan = plan_fine_tuning(
            parent, corpus, [new], [size], tmp_path / "run", replay_share=0.5, recipe="fine-tune", overrides=[]
        )
        updates[words] = plan.updates
        assert plan.config.training.max_steps == plan.updates
        assert plan.held_out.test == min(500, size.pairs // 10)
    # Three passes over 1.5 million new tokens, which are half of the 512 in a batch.
    assert updates == {1_000: 900, 1_000_000: round(3 * 1.5e6 / 256)}
    assert not list(tmp_path.iterdir()), "a plan writes nothing"


def test_the_plan_of_a_student_puts_its_text_beside_the_run(folder: Path, tmp_path: Path) -> None:
    teacher = RunFolder.open(folder / "fa-en")
    corpus = corpus_of_run(teacher.config())
    overrides = ["training.max_steps=7"]
    plan = plan_distillation(
        teacher, corpus, tmp_path / "small", has_monolingual=True, recipe="student", overrides=overrides
    )
    names = {path.name for path in plan.outputs}
    assert names == {"toy.jsonl", "toy.en", "monolingual.fa", "monolingual.en"}
    assert {path.parent for path in plan.outputs} == {tmp_path / "small.text"}
    assert plan.config.training.max_steps == 7
    assert plan.config.training.augmentation.typos == 0, "it changes English input, and this student reads Persian"
    assert Path(plan.config.run.directory) == tmp_path / "small"


def test_the_best_translations_follow_the_content_of_their_files_and_not_time_stamps(tmp_path: Path) -> None:
    n_best, best = tmp_path / "n.jsonl", tmp_path / "best"

    def best_after(*texts: str, reference: str = "a b c d", fingerprint: str = "first") -> str:
        listed = {"translations": [{"text": text} for text in texts]}
        n_best.write_text(json.dumps(listed) + "\n", encoding="utf-8")
        os.utime(n_best, (1, 1))
        write_best(n_best, [reference], fingerprint, sentence_bleu, best, MadeFiles(tmp_path))
        return best.read_text(encoding="utf-8")

    assert best_after("a b", "a b c d", "d c") == "a b c d\n"
    stamp = best.stat().st_mtime_ns
    assert best_after("a b", "a b c d", "d c") == "a b c d\n"
    assert best.stat().st_mtime_ns == stamp, "nothing has changed"
    assert best_after("a b", "a b c", "d c") == "a b c\n"
    assert best_after("a b", "a b c", "d c", reference="d c", fingerprint="second") == "d c\n"
    best.unlink()
    assert best_after("a b", "a b c", "d c", reference="d c", fingerprint="second") == "d c\n"


def test_fine_tuning_without_replay_renames_a_corpus_whose_name_is_taken(folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "a" / "toy.tsv").write_bytes((folder / "new.tsv").read_bytes())
    assert fine_tune(folder, "--replay", "0", corpus="a/toy.tsv", output="alone") == 0
    corpus = corpus_of_run(of(folder, "alone"))
    assert corpus.names("train") == ["toy-new"] and corpus.names("test") == ["toy-new", "toy"]
    (folder / "one.tsv").write_text(f"abc{chr(9)}{'abc'.translate(TO_PERSIAN)}\n", encoding="utf-8")
    assert fine_tune(folder, corpus="one.tsv", output="one") == 0, "nothing of one pair is held out"


def test_word_counts_of_the_parent_run_and_the_new_text_are_added(folder: Path, tmp_path: Path) -> None:
    parent = RunFolder(folder / "en-fa")
    rows = dict(line.split("\t") for line in (parent.subword_folder / "words.tsv").read_text().splitlines())
    write_pairs(tmp_path / "more.tsv", [("zzyx ab", "رردد اب"), ("zzyx cd", "رردد پت")])
    recipe = RECIPE.format(folder=folder, direction="en-fa").replace(": 10, test: 10", ": 0, test: 0")
    more = [f"corpus.sources=[{{name: more, path: '{tmp_path}/more.tsv', use: train}}]"]
    more += [f"subword.models_from={parent.path}", f"run.directory={tmp_path}/run"]
    found = DataHandler(parse_config(recipe, "r", more)).prepare().subword_folder / "words.tsv"
    merged = dict(line.split("\t") for line in found.read_text().splitlines())
    assert merged == rows | {"zzyx": "2"} | {word: str(int(rows.get(word, 0)) + 1) for word in ("ab", "cd")}


def back_translate(folder: Path, *more: str, run: str = "fa-en") -> int:
    return main(["back-translate", "--run", str(folder / run), "--output", str(folder / "synthetic"), *more])


def test_back_translation_writes_aligned_text(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [text.translate(TO_PERSIAN) for text in (" ".join(letters(3, seed)) for seed in range(900, 930))]
    plain, packed = tmp_path / "one.txt", tmp_path / "two.txt.gz"
    plain.write_bytes("\n".join([*texts[:20], "", f"{texts[0]}.", "ا " * 200]).encode() + b"\n\xff\xfe\n")
    packed.write_bytes(gzip.compress("\n".join(texts[20:]).encode()))
    given = ("--monolingual", str(plain), str(packed), "--round-trip", str(folder / "en-fa"), "--min-chrf", "100")
    assert back_translate(folder, *given) == 2
    said, warned = capsys.readouterr()
    assert f"{plain}: 1 line is not UTF-8 and left out (24)" in warned
    assert "no back-translated pair is left" in warned and "Next" not in said, "no round trip gives the same text"
    assert "Persian lines: kept 30, empty 1, repeated 1, too long 1, not UTF-8 1" in said
    persian = (folder / "synthetic" / "monolingual.fa").read_text(encoding="utf-8").splitlines()
    english = (folder / "synthetic" / "translated.en").read_text(encoding="utf-8").splitlines()
    assert persian == texts and english == Translator.load(folder / "fa-en").translate_lines(texts)
    back = (folder / "synthetic" / "round-trip.fa").read_text(encoding="utf-8").splitlines()
    assert back == Translator.load(folder / "en-fa").translate_lines(english)
    assert back_translate(folder, *given) == 2
    assert capsys.readouterr().out.count("exists and is reused") == 2
    assert back_translate(folder, *given, run="en-fa") == 2
    assert "translates en-fa; give a run with corpus.direction: fa-en" in capsys.readouterr().err


def test_monolingual_text_in_another_encoding_is_refused_with_its_name(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.fa"
    old.write_bytes("کتاب کجاست؟\nدر باز است.\n".encode("windows-1256"))
    assert back_translate(folder, "--monolingual", str(old)) == 2
    message = capsys.readouterr().err
    assert "old.fa, line 1: not UTF-8" in message and "`iconv -f WINDOWS-1256 " in message


def test_synthetic_pairs_are_filtered_tagged_and_trained_on(folder: Path, tmp_path: Path) -> None:
    pairs = [(" ".join(letters(3, seed)), " ".join(letters(3, seed))) for seed in range(1000, 1040)]
    english = [source for source, _ in pairs]
    persian = [target.translate(TO_PERSIAN) for _, target in pairs]
    english[0], persian[1], english[2] = "", persian[1] * 4, english[2] * 3
    for name, lines in (("en", english), ("fa", persian)):
        (tmp_path / f"all.{name}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    scores = [0.0 if number == 3 else 50.0 for number in range(40)]
    out = tmp_path / "synthetic"
    filters, made_files = of(folder, "fa-en").corpus.filters, MadeFiles(tmp_path)
    counts = write_synthetic(tmp_path / "all.en", tmp_path / "all.fa", filters, out, made_files, scores, 20)
    assert counts == {"kept": 36, "empty": 1, "length_ratio": 2, "round_trip": 1}
    kept = [text.read_text(encoding="utf-8").splitlines() for text in (out.with_suffix(".en"), out.with_suffix(".fa"))]
    assert kept == [[f"{TAG} {text}" for text in english[4:]], persian[4:]]
    more = f"{{name: synthetic, source_path: '{out}.en', target_path: '{out}.fa', use: train}}"
    recipe = parse_config(
        RECIPE.format(folder=folder, direction="en-fa"),
        "r",
        [f"corpus.sources.1={more}", f"run.directory={tmp_path}/run", "subword.model_type=bpe"],
    )
    data = DataHandler(recipe).prepare()
    assert data.corpus.count("train", "synthetic") == 36
    (tagged,) = data.subword.source.encode([f"{TAG} abc"])
    assert TAG in "".join(data.subword.source.pieces_of(tagged)[:2]), "a piece, and not unknown"
    assert run(recipe).progress.step == 4


def test_a_student_learns_the_best_of_its_teachers_translations(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "small.yaml"
    text = RECIPE.format(folder=folder, direction="en-fa").replace("d_model: 16", "d_model: 8")
    recipe.write_text(text.replace("vocabulary_size: 60", "vocabulary_size: 50"), encoding="utf-8")
    more = [" ".join(letters(3, seed)) for seed in range(1100, 1104)]
    (tmp_path / "more.txt").write_text("\n".join([*more, more[0]]), encoding="utf-8")
    command = ["distill", "--run", str(folder / "en-fa"), "--recipe", str(recipe), "--beam", "3"]
    command += ["--monolingual", str(tmp_path / "more.txt")]
    assert main(command) == 0
    said = capsys.readouterr().out
    student = folder / "en-fa-student"
    config = RunFolder.open(student).config()
    assert (config.model.d_model, config.subword.vocabulary_size, config.training.initialize_from) == (8, 30, None)
    corpus = corpus_of_run(of(folder, "en-fa"))
    sources = list(corpus.lines("train", "toy", corpus.sides[0]))
    taught = (folder / "en-fa-student.text" / "toy.fa").read_text(encoding="utf-8").splitlines()
    n_best = Translator.load(folder / "en-fa").translations(sources[:20], count=3)
    for row, chosen in zip(n_best, taught, strict=False):
        assert chosen in [one.text for one in row]
    made = (folder / "en-fa-student.text" / "monolingual.fa").read_text(encoding="utf-8").splitlines()
    assert made == Translator.load(folder / "en-fa").translate_lines(more), "the repeated line once"
    assert corpus_of_run(config).count("train", "monolingual") > 0
    assert is_export(folder / "en-fa-student-int8") and re.search(r"\ntoy +chrf .*\n", said)
    assert "teacher: " in said and "student in int8: " in said and "sentences a second" in said
    scores = json.loads((folder / "en-fa-student-int8" / "evaluation" / "scores.json").read_text(encoding="utf-8"))
    assert {score["test_set"] for score in scores} == {"toy"}
    step = read_state(find_checkpoint(RunFolder(student).checkpoints_folder, "last")).step
    assert main(command) == 0
    said = capsys.readouterr().out
    assert said.count("exists and is reused") == 4 and "is finished" in said
    assert read_state(find_checkpoint(RunFolder(student).checkpoints_folder, "last")).step == step
    assert main([*command[:-1], str(recipe)]) == 2 and "was trained on other text" in capsys.readouterr().err


def test_distill_and_back_translate_refuse_unusable_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["distill", "--run", str(folder / "en-fa"), "--beam", "1"]) == 2
    assert "distillation needs at least two" in capsys.readouterr().err
    assert main(["distill", "--run", str(folder / "fa-en"), "--monolingual", str(folder / "none.txt")]) == 2
    assert "none.txt" in capsys.readouterr().err, "not the augmentation of English in student.yaml"
    assert main(["distill", "--run", str(folder / "en-fa"), "--recipe", "studnet"]) == 2
    assert "shipped recipes" in capsys.readouterr().err
    empty = folder / "empty.txt"
    empty.write_text("\n\n", encoding="utf-8")
    assert back_translate(folder, "--monolingual", str(empty)) == 2
    assert "has text to translate" in capsys.readouterr().err and not [*folder.rglob("*.new")]


@pytest.fixture
def texts_of_the_user(tmp_path: Path) -> Path:
    """A folder of a user with files whose names back-translate would use."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in ("monolingual.fa", "translated.en", "synthetic.fa"):
        (folder / name).write_text("ابپ تجچ\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("monolingual", "message"),
    [
        ("texts/monolingual.fa", "monolingual.fa is the input itself; give another output"),
        ("link", "monolingual.fa is the input itself; give another output"),
        ("other.fa", "monolingual.fa was not made by this command"),
    ],
)
def test_back_translation_replaces_no_file_of_the_user(
    folder: Path, texts_of_the_user: Path, monolingual: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = texts_of_the_user.parent
    (place / "link").symlink_to(texts_of_the_user / "monolingual.fa")
    (place / "other.fa").write_text("ابپ\n", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in texts_of_the_user.iterdir()}
    command = ["back-translate", "--run", str(folder / "fa-en"), "--output", str(texts_of_the_user)]
    assert main([*command, "--monolingual", str(place / monolingual)]) == 2
    assert message in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in texts_of_the_user.iterdir()} == before


def test_back_translation_into_a_folder_below_a_file_gives_one_message(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    command = ["back-translate", "--run", str(folder / "fa-en"), "--monolingual", str(folder / "new.tsv")]
    assert main([*command, "--output", str(tmp_path / "file" / "x")]) == 2
    (message,) = capsys.readouterr().err.splitlines()
    assert message.endswith("file/x: a part of this path is a file, not a folder; choose another path")


def test_a_folder_that_another_process_fills_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verbs = {
        "back": ["back-translate", "--run", "fa-en", "--monolingual", "new.tsv", "--output", "back"],
        "tune.text": ["fine-tune", "--run", "en-fa", "--corpus", "new.tsv", "--output", "tune"],
        "learn.text": ["distill", "--run", "en-fa", "--output", "learn"],
    }
    for name, command in verbs.items():
        (folder / name).mkdir()
        arguments = [
            str(folder / word) if command[place - 1].startswith("--") else word for place, word in enumerate(command)
        ]
        with hold_folder(folder / name):
            assert main(arguments) == 2
        assert f"another process uses {folder / name}; wait for it, stop it, or give another --output" in (
            capsys.readouterr().err
        )
        assert [path.name for path in (folder / name).iterdir()] == [".lock"], "nothing is written"
        assert not (folder / name).with_suffix(".yaml").exists()


@pytest.mark.parametrize("verb", ["fine-tune", "distill"])
@pytest.mark.parametrize(
    ("output", "message"),
    [
        (".", "has no name of its own"),
        ("/", "has no name of its own"),
        ("..", "has no name of its own"),
        ("runs/..", "has no name of its own"),
        ("file", "is a file; give a new folder"),
        ("file/run", "cannot write file: a file of this name exists"),
        ("RUN", "is the folder of the run itself"),
    ],
)
def test_an_output_that_is_no_new_folder_is_refused(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: str,
    output: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    more = ["--corpus", str(folder / "new.tsv")] if verb == "fine-tune" else []
    run_folder = str(folder / "en-fa")
    assert main([verb, "--run", run_folder, *more, "--output", output.replace("RUN", run_folder)]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_recipe_of_the_user_beside_the_new_run_is_not_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = folder / "mine.yaml"
    recipe.write_text("run: {directory: runs/mine}\n", encoding="utf-8")
    assert fine_tune(folder, output="mine") == 2
    assert "mine.yaml was not made by this command; give --output another folder" in capsys.readouterr().err
    assert recipe.read_text(encoding="utf-8") == "run: {directory: runs/mine}\n"
