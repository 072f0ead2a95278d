"""Sampled text: the same sentences in other pieces, decided by seed, epoch and place alone."""

import dataclasses
from pathlib import Path

import pytest

from translator.data.pair_store import PairStore
from translator.data.sampling import EpochSampler
from translator.subword import SubwordPair


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def sampled(sampler: EpochSampler, folder: Path, epoch: int, processes: int = 1) -> dict[str, bytes]:
    """Return the content of the stores of one epoch."""
    sampler.write(epoch, folder / "stores", processes)
    content = files(folder / "stores")
    for file in (folder / "stores").iterdir():
        file.unlink()
    return content


def test_the_text_stays_and_the_pieces_change(sampler: EpochSampler, tmp_path: Path) -> None:
    subword = SubwordPair.load(sampler.subword_folder)
    sampler.write(0, tmp_path)
    names = sampler.corpus.names("train")
    pairs = PairStore.open(tmp_path, names)
    assert names == ["one", "two"] and 2 * len(pairs) == sampler.sentences
    rows = [pairs[number] for number in range(len(pairs))]
    for side, model, column in (("en", subword.source, 0), ("fa", subword.target, 1)):
        texts = [text for name in names for text in sampler.corpus.lines("train", name, side)]  # type: ignore[arg-type]
        assert model.decode_ids([row[column].tolist() for row in rows]) == texts
        plain = model.encode(texts)
        others = sum(row[column].tolist() != ids for row, ids in zip(rows, plain, strict=True))
        assert others > len(rows) / 2, "most sentences should be cut otherwise"


def test_seed_and_epoch_decide_and_the_number_of_processes_does_not(sampler: EpochSampler, tmp_path: Path) -> None:
    first = sampled(sampler, tmp_path, epoch=4)
    assert sampled(sampler, tmp_path, epoch=4) == first
    assert sampled(sampler, tmp_path, epoch=4, processes=2) == first
    assert sampled(sampler, tmp_path, epoch=5) != first
    assert sampled(dataclasses.replace(sampler, seed=4), tmp_path, epoch=4) != first


def test_blocks_do_not_share_their_draws(
    sampler: EpochSampler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = sampled(sampler, tmp_path, epoch=0)
    monkeypatch.setattr("translator.data.sampling._SENTENCES", 7)
    seeds = [block.seed for epoch in (0, 1) for block in sampler._blocks(epoch)]
    assert len(set(seeds)) == len(seeds) > 20
    assert max(seeds) < 2**32
    counted: list[int] = []
    sampler.write(0, tmp_path / "counted", done=counted.append)
    assert sum(counted) == sampler.sentences and len(counted) > 20
    assert files(tmp_path / "counted") != whole


def test_the_fingerprint_knows_the_strength(sampler: EpochSampler) -> None:
    other = dataclasses.replace(sampler, strength=0.4)
    assert len({sampler.fingerprint("a"), sampler.fingerprint("b"), other.fingerprint("a"), "a", "b"}) == 5
