"""Search speed: sentences a second, greedy and beam, with the whole batch and one by one."""

import torch

from bench.rounds import measure, ratio
from translator.config import Config, SearchConfig
from translator.corpus.normalize import Normalizer
from translator.data import DataHandler
from translator.inference import Translator
from translator.model import Transformer

SENTENCES = 64


def bench_search(config: Config) -> list[str]:
    """Return the lines of a report on translating `SENTENCES` test sentences with an untrained model of `config`.

    An untrained model seldom ends a sentence, so every hypothesis grows to its limit: the work is the same each round.
    """
    data = DataHandler(config)
    torch.manual_seed(0)
    model = Transformer(config.model, data.subword.source.vocabulary_size, data.subword.target.vocabulary_size).eval()
    name = data.corpus.names("test")[0]
    lines = list(data.corpus.lines("test", name, "en"))[:SENTENCES]

    def translator(method: str, batch_size: int) -> Translator:
        search = SearchConfig.model_validate({"method": method, "batch_size": batch_size, "max_length_ratio": 1.0})
        normalizer = Normalizer(config.corpus.normalization)
        limit = config.batching.max_length
        return Translator(model, data.subword, normalizer, search, limit, torch.device("cpu"))

    together, alone, beam = translator("greedy", SENTENCES), translator("greedy", 1), translator("beam", SENTENCES)
    rates = measure(
        {
            "greedy, batched": lambda: float(len(together.translate_lines(lines))),
            "greedy, one by one": lambda: float(len(alone.translate_lines(lines))),
            "beam 5, batched": lambda: float(len(beam.translate_lines(lines))),
        },
        "sentences/s",
    )
    return [
        f"search, {len(lines)} sentences, d {config.model.d_model}, {torch.get_num_threads()} threads",
        *map(str, rates.values()),
        ratio(rates["greedy, batched"], rates["greedy, one by one"]),
        ratio(rates["greedy, batched"], rates["beam 5, batched"]),
    ]
