"""The verbs on corpora: corpus overlap, download."""

import argparse
from pathlib import Path

from translator.cli.arguments import option, place, say, verb
from translator.run.signals import StopRequest


@verb(
    "corpus overlap",
    "count the pairs and the texts of each side that two corpora share",
    option("first A", "a zip, TSV, CSV, JSON Lines, Parquet or TMX, a folder of these, or ENGLISH:PERSIAN"),
    option("second B", "the other corpus, in any of these forms"),
    examples=("translator corpus overlap data/mizan.zip my-test.en:my-test.fa",),
)
def _overlap(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import NormalizationConfig
    from translator.corpus.normalizer import Normalizer
    from translator.corpus.overlap import find_overlap, format_overlap
    from translator.corpus.sources import corpus_argument

    # Texts are compared as the preparation would compare them, by the default rules of the normalizer.
    first, second = corpus_argument(options.first), corpus_argument(options.second)
    say(format_overlap(find_overlap(first, second, Normalizer(NormalizationConfig()))))


@verb(
    "download",
    "download a public corpus; no other verb downloads anything",
    option("dataset DATASET", "name of the corpus, or opus:NAME/VERSION (default: list all)", nargs="?"),
    option("--folder FOLDER", "folder for the download (default: data)", type=place, default="data"),
    examples=("translator download mizan --folder data", "translator download opus:TED2020/v1"),
)
def _download(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.corpus.download import download_dataset
    from translator.corpus.public_corpora import dataset_table, find_dataset, recipe_snippet

    if not options.dataset:
        say(dataset_table())
        return
    folder = Path(options.folder)
    path = download_dataset(options.dataset, folder)
    dataset = find_dataset(options.dataset)
    arguments = " ".join(dataset.arguments(folder))
    say(f"{path} is ready: {arguments}", "In a recipe:", recipe_snippet(dataset, folder))
