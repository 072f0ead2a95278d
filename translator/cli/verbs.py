"""All verbs of the command line: their options and examples, and the function that does what each says.

A function is named as `module:function`, and its module is imported when the verb is run. So this file imports nothing
that takes time, and `translator --help` is quick.
"""

import argparse
from typing import Final

from translator import __version__
from translator.cli.arguments import (
    CHECKPOINT,
    FORMAT,
    PARENT_RUN,
    RUN,
    RUNS,
    SEARCH,
    SET,
    TEXT_FORMS,
    Verb,
    VerbParser,
    option,
)

_MANUAL: Final = """examples:
  translator train --config sample
  translator translate --run runs/sample "The children are at school."

exit codes:
  0    done
  1    a bug of translator, with its traceback
  2    a mistake in the config, corpus or command; one message says what to do
  129, 130, 143   stopped by SIGHUP, SIGINT (Ctrl-C) or SIGTERM after saving; a second signal stops immediately"""
_CORPUS: Final = (
    "your corpus: two text files (English, Persian), a zip, TSV, CSV, JSON Lines, Parquet or TMX, or a folder "
    "of these; repeat it for several. Without --config, a recipe that fits it is written to runs/NAME.yaml"
)
_RECIPE: Final = (
    option(
        "--config FILE",
        "YAML recipe, or the name of a shipped one (translator recipe); optional with --corpus",
    ),
    option("--corpus PATH", _CORPUS, dest="corpora", action="append", nargs="+", default=[]),
    SET,
)
_SPARE_HOST: Final = "host name that requests may use, in addition to localhost; repeat it for several"
_PICTURE: Final = option("--output FILE", "picture file to write; ends in .png or .svg", required=True)

_TEST_SETS: Final = (
    "test set that replaces the run's own: a zip, TSV, CSV, JSON Lines, Parquet or TMX, a folder of these, or "
    "files as ENGLISH:PERSIAN[:PERSIAN...], each Persian file a reference; repeat it for several sets"
)
_METRICS: Final = ("bleu", "bleu_intl", "chrf", "chrf++", "ter")
_VARIANTS: Final = "raw (default), normalized (by the rules for Persian), or folded (half-spaces also become spaces)"
_LINES: Final = "one sentence per line, in UTF-8 or UTF-16, plain or compressed by gzip, xz or zstd"

VERBS: Final = (
    Verb(
        "prepare",
        "clean and split a corpus, train its subword models, and store its tokens",
        options=_RECIPE,
        examples=("translator prepare --config sample", "translator prepare --corpus my.en my.fa"),
        run="translator.cli.training:prepare",
    ),
    Verb(
        "train",
        "prepare, train (or resume training), and evaluate",
        options=(
            *_RECIPE,
            option(
                "--allow-changed", "resume although settings that affect the result have changed", action="store_true"
            ),
        ),
        examples=(
            "translator train --config sample",
            "translator train --corpus my.en my.fa",
            "translator train --config my.yaml --set training.max_steps=2000 run.directory=runs/short",
        ),
        run="translator.cli.training:train",
    ),
    Verb(
        "average",
        "average the weights of several checkpoints of a run into a new checkpoint `averaged`",
        options=(
            RUN,
            option("--count K", "number of checkpoints (default: 5)", default=5),
            option(
                "--of",
                "which checkpoints: the newest (last, default) or the best",
                choices=("last", "best"),
                default="last",
            ),
        ),
        examples=("translator average --run runs/mizan --of best --count 5",),
        run="translator.cli.small_verbs:average",
    ),
    Verb(
        "tensorboard",
        "start TensorBoard for all runs in a folder",
        options=(
            option("folder FOLDER", "folder of the runs (default: runs)", nargs="?", default="runs"),
            option("--port N", "port on this machine (default: 6006)", default=6006),
        ),
        examples=("translator tensorboard experiments --port 6007",),
        run="translator.cli.small_verbs:tensorboard",
    ),
    Verb(
        "evaluate",
        "translate test sets with one or several runs, then score the translations and count mistakes",
        options=(
            RUNS,
            option("--ensemble", "combine the runs into one system", action="store_true"),
            option(
                "--checkpoint NAME",
                "best (default), last, averaged, or a step number; repeat it to evaluate several",
                dest="checkpoints",
                action="append",
            ),
            option("--test-set [NAME=]PATH", _TEST_SETS, dest="test_sets", action="append", default=[]),
            option("--hypotheses NAME=FILE", "also score translations by another program", action="append", default=[]),
            option(
                "--split", "split of the run's own text to evaluate (default: test)", choices=("test", "validation")
            ),
            option("--robustness", "also score each test set with noisy input, such as typos", action="store_true"),
            *(*SEARCH, FORMAT),
            option("--no-report", "do not write report.html", action="store_true"),
            option(
                "--output FOLDER",
                "folder for report.html (default: the evaluation folder of the first run)",
            ),
        ),
        examples=(
            "translator evaluate --run runs/sample --search beam --beam 5",
            "translator evaluate --run runs/a --run runs/b --test-set mine=test.en:test.fa",
        ),
        run="translator.cli.evaluating:evaluate",
    ),
    Verb(
        "compare",
        "test whether one system is significantly better than another, and show sentences that differ",
        options=(
            option(
                "systems PATH",
                "evaluated run folders, or text files of translations; the first is the baseline",
                nargs="+",
            ),
            option(
                "--source FILE",
                "source text, when systems are text files (default: source.txt beside them)",
            ),
            option(
                "--reference FILE",
                "references, when systems are text files",
                action="extend",
                nargs="+",
                default=[],
            ),
            option("--test-set NAME", "only these test sets (default: all)", action="extend", nargs="+", default=[]),
            option(
                "--metrics",
                "default: all but bleu_intl",
                nargs="+",
                choices=_METRICS,
                default=("bleu", "chrf", "chrf++", "ter"),
            ),
            option("--text", _VARIANTS, nargs="+", choices=TEXT_FORMS, default=["raw"]),
            FORMAT,
            option("--json FILE", "also write all results to FILE as JSON"),
        ),
        examples=("translator compare runs/a runs/b",),
        run="translator.cli.evaluating:compare",
    ),
    Verb(
        "fine-tune",
        "continue training a run on your text mixed with its own, and compare both models on old and new test text",
        options=(
            PARENT_RUN,
            option(
                "--corpus PATH",
                "the new text, in any form that `translator train --corpus` accepts; repeat it for several corpora",
                dest="corpora",
                action="append",
                nargs="+",
                required=True,
            ),
            option("--replay SHARE", "share of pairs from the run's own text (default: 0.8)", type=float, default=0.8),
            option(
                "--recipe FILE",
                "recipe for `training` and dropout; steps and learning rate are computed (default: fine-tune)",
                default="fine-tune",
            ),
            option("--output FOLDER", "folder of the new run (default: RUN-NAME, with the name of the text)"),
            SET,
        ),
        examples=("translator fine-tune --run runs/mizan --corpus my.en my.fa",),
        run="translator.cli.deriving:fine_tune",
    ),
    Verb(
        "back-translate",
        "make training pairs from monolingual Persian text, with a run that translates Persian into English",
        options=(
            PARENT_RUN,
            option("--monolingual FILE", f"Persian text, {_LINES}", nargs="+", action="extend", required=True),
            option(
                "--output FOLDER",
                "folder of the pairs (default: data/back-translated)",
                default="data/back-translated",
            ),
            option("--round-trip FOLDER", "en-fa run that translates the English back to filter pairs"),
            option(
                "--min-chrf SCORE", "with --round-trip: least chrF against the Persian line (default: 20)", type=float
            ),
            *SEARCH,
        ),
        examples=("translator back-translate --run runs/mizan-reverse --monolingual persian.txt",),
        run="translator.cli.deriving:back_translate",
    ),
    Verb(
        "distill",
        "train a small, fast student on the translations of a run, and export it in int8",
        options=(
            PARENT_RUN,
            option(
                "--recipe FILE",
                "recipe of subwords, model and training (default: student)",
                default="student",
            ),
            option(
                "--beam N",
                "beam width; the hypothesis nearest to a reference is used (default: 5)",
                default=5,
            ),
            option(
                "--monolingual FILE",
                f"more text for the teacher to translate, in its source language, {_LINES}",
                nargs="+",
                action="extend",
                default=[],
            ),
            option(
                "--translations FILE",
                "translations by another system, as TSV or JSON Lines, instead of those by the run",
            ),
            option("--output FOLDER", "folder of the student's run (default: RUN-student)"),
            SET,
        ),
        examples=("translator distill --run runs/cpu-small",),
        run="translator.cli.deriving:distill",
    ),
    Verb(
        "translate",
        "translate arguments, a file, standard input line by line, or text typed at a prompt",
        options=(
            *(RUNS, CHECKPOINT, *SEARCH),
            option(
                "--input FILE",
                "text file to translate, line by line, in UTF-8, or in UTF-16 with a byte order mark; may be .gz, .xz "
                "or .zst",
            ),
            option(
                "--column NAME", "with --input of a CSV, TSV or JSON Lines file: the column to translate, or its number"
            ),
            option(
                "--paragraphs",
                "join the lines of each paragraph, up to a blank line, into one line",
                action="store_true",
            ),
            option(
                "--output FILE",
                "with --input: file for the translations, replaced atomically; resumes after a stop",
            ),
            option("--format", "output format (default: text)", choices=("text", "tsv", "jsonl"), default="text"),
            option("--n-best K", "number of translations of each text, best first (default: 1)", default=1),
            option("--scores", "add log-probabilities (tsv, jsonl)", action="store_true"),
            option("--alignment", "add the word alignment (tsv, jsonl)", action="store_true"),
            option("--attention", "add the attention weights (jsonl)", action="store_true"),
            option("--prefix TEXT", "forced beginning of each translation", default=""),
            option(
                "--display",
                "order of Persian text; visual: joined and reordered, for terminals without bidi (default: auto)",
                choices=("auto", "logical", "visual"),
                default="auto",
            ),
            option(
                "text", "text to translate, one line of output per argument (default: read standard input)", nargs="*"
            ),
        ),
        examples=(
            'translator translate --run runs/sample "The children are at school."',
            "translator translate --run runs/sample --input book.en --output book.fa",
            "translator translate --run runs/sample --format jsonl --n-best 5 --scores < book.en",
        ),
        run="translator.cli.translating:translate",
    ),
    Verb(
        "export",
        "export the model of a run to a folder that other programs can load",
        options=(
            RUN,
            option("--to", "format of the export", required=True, choices=("ctranslate2", "marian", "safetensors")),
            CHECKPOINT,
            option(
                "--quantization TYPE",
                "float32 (default); ctranslate2 and marian: also float16, bfloat16; ctranslate2: also int8, int16",
            ),
            option("folder FOLDER", "folder for the export; new or empty"),
        ),
        examples=("translator export --run runs/sample --to ctranslate2 exports/sample",),
        run="translator.cli.translating:export",
    ),
    Verb(
        "serve",
        "serve a web page and a JSON API for translation; by default only this machine can reach them",
        options=(
            *(RUNS, CHECKPOINT, *SEARCH),
            option("--host NAME", "address to listen on (default: 127.0.0.1)", default="127.0.0.1"),
            option("--port N", "port to listen on; 0 chooses a free one (default: 8000)", default=8000),
            option("--allow-host NAME", _SPARE_HOST, dest="names", action="append", default=[]),
            option("--characters N", "largest number of characters in a request (default: 5000)", default=5000),
            option("--lines N", "largest number of lines in a request (default: 100)", default=100),
            option(
                "--seconds SECONDS",
                "time limit for the answer to a request, in seconds (default: 30)",
                type=float,
                default=30.0,
            ),
            option("--connections N", "largest number of connections at a time (default: 500)", default=500),
        ),
        examples=("translator serve --run runs/sample",),
        run="translator.cli.translating:serve",
    ),
    Verb(
        "plot attention",
        "the attention weights of a model for one sentence",
        options=(
            *(RUN, CHECKPOINT, SET),
            option("text TEXT", "sentence to translate (default: a short example)", nargs="?"),
            option("--kind", "attention (default: cross)", choices=("cross", "encoder", "decoder"), default="cross"),
            option("--layer LAYER", "layer: last (default), all, or a number from 1", default="last"),
            option("--head HEAD", "head: mean (default), all, or a number from 1", default="mean"),
            _PICTURE,
        ),
        examples=('translator plot attention --run runs/sample "The children are at school." --output attention.png',),
        run="translator.cli.plotting:attention",
    ),
    Verb(
        "plot curves",
        "learning curves of runs, from their TensorBoard events",
        options=(
            option("runs FOLDER", "run folders; each gets one colour", nargs="+"),
            option(
                "--metric NAME",
                "loss, perplexity, bleu, chrf, or a TensorBoard tag; one panel for each (default: loss, bleu and chrf)",
                dest="metrics",
                action="append",
            ),
            option(
                "--over", "horizontal axis (default: steps)", choices=("steps", "tokens", "minutes"), default="steps"
            ),
            option("--smooth N", "smooth training curves by averaging N points (default: 1)", default=1),
            _PICTURE,
        ),
        examples=("translator plot curves runs/a runs/b --metric chrf --output curves.svg",),
        run="translator.cli.plotting:curves",
    ),
    Verb(
        "download",
        "download a public corpus; no other verb downloads anything",
        options=(
            option("dataset DATASET", "name of the corpus, or opus:NAME/VERSION (default: list all)", nargs="?"),
            option("--folder FOLDER", "folder for the download (default: data)", default="data"),
        ),
        examples=("translator download mizan --folder data", "translator download opus:TED2020/v1"),
        run="translator.cli.small_verbs:download",
    ),
    Verb(
        "recipe",
        "list the shipped recipes, or print or copy one",
        options=(
            option("name NAME", "name of the recipe (default: list all)", nargs="?"),
            option("--output FILE", "file for the copy; an existing file is never overwritten"),
        ),
        examples=("translator recipe sample --output my.yaml",),
        run="translator.cli.small_verbs:recipe",
    ),
    Verb(
        "doctor",
        "show versions, devices, precision and disk of this machine, and what training lacks",
        options=(),
        examples=("translator doctor",),
        run="translator.cli.small_verbs:doctor",
    ),
)
"""All verbs, in the order of the help."""
_GROUPS: Final = {"plot": ("PICTURE", "draw a picture of a run: attention, curves")}
"""First words of verbs of two words: the metavar of the second word, and the summary of the group."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; in the parsed options, `verb` is the `Verb`."""
    program = VerbParser(
        prog="translator",
        description="Train, evaluate and use English→Persian neural translation models.",
        epilog=_MANUAL,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    program.add_argument("--version", action="version", version=f"translator {__version__}")
    # A verb of two words, such as `plot curves`, is a verb inside a group.
    groups = {"": program.add_subparsers(metavar="VERB", required=True)}
    for verb in VERBS:
        group_name = verb.name.rpartition(" ")[0]  # "" for a verb of one word
        if group_name not in groups:
            metavar, summary = _GROUPS[group_name]
            group = groups[""].add_parser(group_name, help=summary, description=summary)
            groups[group_name] = group.add_subparsers(metavar=metavar, required=True)
        verb.add_to(groups[group_name])
    return program
