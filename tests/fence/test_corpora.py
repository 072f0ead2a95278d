"""Prepare and train from every form of corpus, and be told what was read, what was dropped, and what cannot be read."""

import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard

from tests.fence.files import read_json, read_lines
from tests.fence.small_language import all_pairs
from tests.support.command_line import succeed

Pairs = list[tuple[str, str]]
PAIRS_PER_FORM = 18


def lines(texts: list[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def table(rows: Sequence[tuple[str, ...]], delimiter: str = "\t") -> bytes:
    return lines([delimiter.join(row) for row in rows])


def english(pairs: Pairs) -> bytes:
    return lines([source for source, _ in pairs])


def persian(pairs: Pairs) -> bytes:
    return lines([target for _, target in pairs])


def tmx(pairs: Pairs) -> bytes:
    units = [
        f'<tu><tuv xml:lang="en-US"><seg>{source}</seg></tuv><tuv xml:lang="fa-IR"><seg>{target}</seg></tuv></tu>\n'
        for source, target in pairs
    ]
    return f'<?xml version="1.0"?><tmx version="1.4"><header/><body>{"".join(units)}</body></tmx>'.encode()


def json_lines(pairs: Pairs) -> bytes:
    return lines([json.dumps({"en": source, "fa": target}) for source, target in pairs])


def parquet(pairs: Pairs) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    content = io.BytesIO()
    columns = {"en": [source for source, _ in pairs], "fa": [target for _, target in pairs]}
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(columns), content)
    return content.getvalue()


def zip_of(members: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return content.getvalue()


# --- one recipe with every form ---

SIDES: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
"""Ways to pack the file of each side, by suffix."""
FILES: dict[str, Callable[[Pairs], bytes]] = {
    "zip": lambda pairs: zip_of({"x/en.txt": english(pairs), "x/fa.txt": persian(pairs), "README": b"x"}),
    "zip_with_a_table": lambda pairs: zip_of({"x/pairs.tsv": table(pairs)}),
    "zip_with_a_memory": lambda pairs: zip_of({"x/en-fa.tmx": tmx(pairs), "x/readme.txt": b"x"}),
    "zip_of_argos": lambda pairs: zip_of(
        {"d-en_fa/source": english(pairs), "d-en_fa/target": persian(pairs), "d-en_fa/metadata.json": b"{}"}
    ),
    "plain.tsv": table,
    "after_a_key.tsv": lambda pairs: table([(f"s-{number}", "en", *pair) for number, pair in enumerate(pairs)]),
    "before_a_source.tsv": lambda pairs: table(
        [(*pair, f"CC-BY 2.0 (France) example.org #{number}") for number, pair in enumerate(pairs)]
    ),
    "persian_first.tsv": lambda pairs: table([pair[::-1] for pair in pairs]),
    "not_packed.tsv.gz": table,
    "blank_end.tsv": lambda pairs: table(pairs) + b"\n\n",
    "names.csv": lambda pairs: table([("fa", "en"), *[pair[::-1] for pair in pairs]], ","),
    "excel.csv": lambda pairs: b"sep=;\r\n" + table(pairs, ";"),
    "other_names.csv": lambda pairs: table(
        [
            ("", "Text", "English source", "Translation", "Student"),
            *[("1", "Text 1", *pair, pair[1]) for pair in pairs],
        ],
        ",",
    ),
    "plain.jsonl": json_lines,
    "plain.parquet": parquet,
    "plain.tmx": tmx,
}
"""Files of both sides, by name."""
FORMS = [*[f"sides{suffix}" for suffix in SIDES], "folder", *FILES]


FAULTY = yaml.safe_load(Path(__file__).with_name("faulty_files.yaml").read_text(encoding="utf-8"))


def content_of(faulty: dict[str, Any]) -> bytes:
    """Return the content of a file of which some pairs are changed or dropped."""
    if "content" in faulty:
        return str(faulty["content"]).encode()
    in_another_encoding = table(faulty.get("windows_1256", [])).decode().encode("windows-1256")
    return table(faulty["rows"]) + in_another_encoding


RECIPE = """
run: {{directory: "{folder}/run", device: cpu, threads: 1}}
corpus:
  prepared_directory: "{folder}/prepared"
  split: {{validation: 0, test: 0}}
  sources:
{sources}
subword: {{model_type: bpe, vocabulary_size: 130}}
batching: {{tokens_per_batch: 512, max_length: 64}}
model: {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 16, max_positions: 64}}
training: {{max_steps: 1, precision: float32}}
"""


def pairs_of_form(form: str) -> Pairs:
    start = FORMS.index(form) * PAIRS_PER_FORM
    return all_pairs()[start : start + PAIRS_PER_FORM]


def name_of(form: str) -> str:
    """Return a name for a source."""
    return form.replace(".", "_")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run whose recipe has sources of every form."""
    folder = tmp_path_factory.mktemp("forms")
    sources: dict[str, str] = {}  # settings by name

    for suffix, pack in SIDES.items():
        pairs = pairs_of_form(f"sides{suffix}")
        (folder / f"sides.en{suffix}").write_bytes(pack(english(pairs)))
        (folder / f"sides.fa{suffix}").write_bytes(pack(persian(pairs)))
        paths = f"source_path: {folder}/sides.en{suffix}, target_path: {folder}/sides.fa{suffix}"
        sources[name_of(f"sides{suffix}")] = paths

    pairs = pairs_of_form("folder")
    (folder / "folder").mkdir()
    for name, content in {"a.en": english(pairs), "a.fa": persian(pairs), "LICENSE": b"x"}.items():
        (folder / "folder" / name).write_bytes(content)
    sources["folder"] = f"path: {folder}/folder"

    for form, write in FILES.items():
        (folder / form).write_bytes(write(pairs_of_form(form)))
        sources[name_of(form)] = f"path: {folder}/{form}"

    for name, faulty in FAULTY.items():
        file = folder / f"{name}{faulty.get('suffix', '.tsv')}"
        file.write_bytes(content_of(faulty))
        sources[name] = f"path: {file}{faulty.get('settings', '')}"

    listed = "".join(f"    - {{name: {name}, {settings}}}\n" for name, settings in sources.items())
    (folder / "recipe.yaml").write_text(RECIPE.format(folder=folder, sources=listed), encoding="utf-8")
    succeed("train", "--config", folder / "recipe.yaml")
    return folder


def training_text(folder: Path, name: str) -> Pairs:
    """Return the training text that was prepared of a source."""
    (english_file,) = (folder / "prepared").rglob(f"{name}.en")
    return list(zip(read_lines(english_file), read_lines(english_file.with_suffix(".fa")), strict=True))


def dropped(folder: Path, name: str) -> dict[str, int]:
    """Return the counts of the rules that dropped pairs of a source, from the report of the run."""
    report = read_json(folder / "run" / "preparation" / "report.json")
    (source,) = [source for source in report["corpus"]["sources"] if source["name"] == name]
    return {rule: count for rule, count in source["dropped"].items() if count}


@pytest.mark.parametrize("form", FORMS)
def test_a_model_trains_on_every_pair_of_a_corpus_in_whatever_form_it_comes(trained: Path, form: str) -> None:
    assert training_text(trained, name_of(form)) == pairs_of_form(form)
    assert dropped(trained, name_of(form)) == {}


@pytest.mark.parametrize("name", FAULTY)
def test_what_is_no_pair_is_mended_or_dropped_and_counted(trained: Path, name: str) -> None:
    assert training_text(trained, name) == [tuple(pair) for pair in FAULTY[name]["read"]]
    assert dropped(trained, name) == FAULTY[name]["dropped"]


# --- a corpus without a recipe ---


def test_a_corpus_of_thirty_pairs_in_two_files_gets_a_recipe_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.en").write_bytes(english(all_pairs()[:30]))
    (tmp_path / "mine.fa").write_bytes(persian(all_pairs()[:30]))
    no_split = ("--set", "corpus.split.validation=0", "corpus.split.test=0")
    result = succeed("prepare", "--corpus", "mine.en", "mine.fa", *no_split)
    (counts,) = [line.split()[1:] for line in result.lines if line.startswith("out ")]
    assert counts[0] == "30"


def test_a_corpus_finds_its_recipe_again_and_shares_it_with_no_other_corpus_direction_or_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, pairs in (("first", all_pairs()[:150]), ("second", all_pairs()[150:300])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.tsv").write_bytes(table(pairs))
    made = [succeed("prepare", "--corpus", tmp_path / folder / "mine.tsv").out for folder in ("first", "second")]
    assert "runs/mine.yaml: a recipe for 150 pairs" in made[0]
    assert "runs/mine-2.yaml: a recipe for 150 pairs" in made[1]

    # The first corpus finds its recipe, which the user has changed.
    recipe = tmp_path / "runs" / "mine.yaml"
    own = recipe.read_text(encoding="utf-8") + "# mine\n"
    recipe.write_text(own, encoding="utf-8")
    assert "runs/mine.yaml exists and is reused" in succeed("prepare", "--corpus", tmp_path / "first" / "mine.tsv").out
    assert recipe.read_text(encoding="utf-8") == own

    # The name of a run folder is taken, too.
    (tmp_path / "runs" / "mine-3").mkdir()
    reverse = ("--set", "corpus.direction=fa-en")
    assert "runs/mine-4.yaml: " in succeed("prepare", "--corpus", tmp_path / "first" / "mine.tsv", *reverse).out
    assert "direction: fa-en" in (tmp_path / "runs" / "mine-4.yaml").read_text(encoding="utf-8")


# --- test sets ---

LEAKING = """
run: {{directory: "{folder}/run"}}
corpus:
  sources: [{{name: mine, path: "{folder}/mine.tsv", use: train}}, {{name: held, path: "{folder}/held.tsv", use: test}}]
  prepared_directory: "{folder}/prepared"
subword: {{model_type: char, vocabulary_size: 60}}
"""


def test_training_text_shares_no_side_with_the_test_text(tmp_path: Path) -> None:
    pairs = all_pairs()[:100]
    held = [(pairs[0][0], "این متن دیگری است."), ("I am someone else today.", pairs[1][1])]
    (tmp_path / "mine.tsv").write_bytes(table(pairs))
    (tmp_path / "held.tsv").write_bytes(table(held))
    (tmp_path / "leaking.yaml").write_text(LEAKING.format(folder=tmp_path), encoding="utf-8")
    result = succeed("prepare", "--config", tmp_path / "leaking.yaml")
    counts = {line.split()[0]: line.split()[1] for line in result.lines if line.startswith("  train")}
    assert counts == {"train": "98"}
    assert "dropped: source_held_out    1 " in result.out
    assert "dropped: target_held_out    1 " in result.out


def test_tokenized_references_of_a_test_set_are_told(small_copy: Path, tmp_path: Path) -> None:
    test_set = tmp_path / "tokenized.tsv"
    test_set.write_bytes(table([(source, f"{target[:-1]} {target[-1]}") for source, target in all_pairs()[:5]]))
    result = succeed("evaluate", "--run", small_copy, "--test-set", test_set, "--no-report")
    assert "test set `tokenized`: the references look tokenized: 5 of 5 sentences end in a space" in result.err
