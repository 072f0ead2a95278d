"""Create test sets for copied numbers and links from the held-out text of a run.

    python scripts/make_copying_test_set.py RUN FOLDER
    translator evaluate --run RUN --test-set FOLDER/numbers.tsv --test-set FOLDER/links.tsv

`numbers.tsv` has the test pairs with the same numbers in digits on both sides. `links.tsv` has pairs without any, into
which a web or e-mail address, a handle or an emoji was inserted: at the start, before the final punctuation, or at the
end. The evaluation counts the errors (`lost`).
"""

import random
import re
import sys
from collections import Counter
from pathlib import Path

from translator.corpus.held_out import read_held_out_folder
from translator.corpus.selecting.number_agreement import numbers_of

PAIRS_OF_LINKS = 200  # of each source of the corpus
END = re.compile(r"[.!?…؟؛۔:\s]*$")
NAMES = ("sara", "ali.rezaei", "k_mohammadi", "mina", "dr.h", "farhad99", "J.Smith", "tehran-info")
DOMAINS = ("example.com", "sharif.edu.ir", "fa.wikipedia.org", "news.co.uk", "shop-24.net", "github.com")
EMOJI = ("😂", "❤️", "🙏🏽", "🎉🎉", "👍", "😭😭😭")


def made_up(draw: random.Random) -> str:
    """Return an address, a handle or emoji."""
    name, domain = draw.choice(NAMES), draw.choice(DOMAINS)
    path = "".join(draw.choice("abcdefghXYZ0123456789") for _ in range(draw.randint(4, 11)))
    kinds = (f"https://{domain}/{path}", f"www.{domain}", f"http://{domain}/{path}?q={name}&id=7", f"{name}@{domain}")
    return draw.choice((*kinds, f"@{name.replace('-', '_')}", draw.choice(EMOJI)))


def with_link(text: str, link: str, place: int) -> str:
    """Return `text` with `link` at the beginning (0), before the final punctuation (1), or at the end (2)."""
    if place == 0:
        return f"{link} {text}"
    end = END.search(text) if place == 1 else None
    at = len(text) if end is None else end.start()
    return f"{text[:at]} {link}{text[at:]}"


def main(run: str, folder: str) -> None:
    """Write the two files."""
    draw = random.Random(1)
    pairs_with_numbers: list[tuple[str, str]] = []
    pairs_with_links: list[tuple[str, str]] = []
    links_of_origin = Counter[str]()
    for held_out in read_held_out_folder(Path(run) / "held_out", "test"):
        for source, references, origin in zip(held_out.sources, held_out.references, held_out.origins, strict=True):
            target = references[0]
            if "\t" in source + target:
                continue
            source_numbers = sorted(numbers_of(source))
            if source_numbers and source_numbers == sorted(numbers_of(target)):
                pairs_with_numbers.append((source, target))
            elif not source_numbers and links_of_origin[origin] < PAIRS_OF_LINKS:
                links_of_origin[origin] += 1
                link = made_up(draw)
                place = draw.randrange(3)
                pairs_with_links.append((with_link(source, link, place), with_link(target, link, place)))
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, pairs in (("numbers", pairs_with_numbers), ("links", pairs_with_links)):
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (Path(folder) / f"{name}.tsv").write_text(text, encoding="utf-8")
        print(f"{name}.tsv: {len(pairs):,} pairs")


if __name__ == "__main__":
    main(*sys.argv[1:])
