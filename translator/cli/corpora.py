"""The verbs on corpora: prepare, corpus overlap, download."""

import argparse
from pathlib import Path

from translator.cli.arguments import Verbs, add_config
from translator.cli.say import say
from translator.signals import StopRequest


def add_verbs(verbs: Verbs) -> None:
    """Add the verbs on corpora."""
    summary = "clean and split a corpus, train its subword models, store its tokens"
    prepare = verbs.add_parser("prepare", help=summary, description=summary)
    add_config(prepare)
    prepare.set_defaults(verb=_prepare)

    corpus = verbs.add_parser("corpus", help="look into corpora")
    questions = corpus.add_subparsers(metavar="QUESTION", required=True)
    summary = "count the pairs, and the texts of either side, that two corpora share"
    overlap = questions.add_parser("overlap", help=summary, description=summary)
    place = "a zip, a two-column TSV, a folder of these, or two files as ENGLISH:PERSIAN"
    overlap.add_argument("first", metavar="A", help=place)
    overlap.add_argument("second", metavar="B", help="the same")
    overlap.set_defaults(verb=_overlap)

    summary = "fetch a public corpus into a folder; nothing is ever downloaded without this"
    download = verbs.add_parser("download", help=summary, description=summary)
    download.add_argument("dataset", nargs="?", metavar="DATASET", help="its name; without one, all are listed")
    download.add_argument("--folder", default="data", metavar="FOLDER", help="where to (default: data)")
    download.set_defaults(verb=_download)


def _prepare(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import load_config
    from translator.corpus import format_report
    from translator.data import DataHandler, preparation_report, write_preparation_report
    from translator.prepared import fingerprint_of, prepared_folder
    from translator.subword import format_subword_tables

    config = load_config(options.config, options.overrides)
    data = DataHandler(config)
    report = preparation_report(data, config)
    prepared = data.corpus.directory.parent
    _, page = write_preparation_report(report, prepared_folder(prepared, "report", fingerprint_of(report.to_json())))
    say(format_report(report.corpus), "", data.format_report(), "", format_subword_tables(report.subwords))
    say("", f"prepared in {prepared}; the report with examples: {page}")


def _overlap(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import NormalizationConfig
    from translator.corpus import Normalizer
    from translator.corpus.comparison import compare_corpora, corpus_argument, format_comparison

    first, second = corpus_argument(options.first), corpus_argument(options.second)
    say(format_comparison(compare_corpora(first, second, Normalizer(NormalizationConfig()))))


def _download(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.corpus.download import dataset_table, download_dataset, recipe_snippet

    if not options.dataset:
        say(dataset_table())
        return
    folder = Path(options.folder)
    path = download_dataset(options.dataset, folder)
    say(f"{path} is ready; for a recipe:", recipe_snippet(options.dataset, folder))
