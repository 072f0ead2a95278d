"""Sampled text: decided only by seed, epoch and sentence, made ahead, with no files left beside the prepared data."""

import contextlib
import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest

from translator.config.sections import AugmentationConfig
from translator.data import sampling
from translator.data.sampling import Draws, EpochSampler, sampled_epochs
from translator.data.token_store import PairStore
from translator.errors import Interrupted, StorageError
from translator.subword import SubwordPair


def rows(pairs: PairStore) -> list[list[list[int]]]:
    return [[side.tolist() for side in pairs[number]] for number in range(len(pairs))]


def draws(sampler: EpochSampler, times: int = 1) -> Draws:
    return {name: np.full(sampler.corpus.count("train", name), times) for name in sampler.corpus.names("train")}


def expected(
    sampler: EpochSampler, folder: Path, epoch: int, processes: int = 1, times: int = 1
) -> list[list[list[int]]]:
    sampler.write(epoch, draws(sampler, times), folder, processes)
    return rows(PairStore.open(folder, sampler.corpus.names("train")))


def test_sampling_changes_the_pieces_but_not_the_text(sampler: EpochSampler, tmp_path: Path) -> None:
    subword = SubwordPair.load(sampler.subword_folder)
    sampled = expected(sampler, tmp_path, 0)
    names = sampler.corpus.names("train")
    assert names == ["one", "two"] and len(sampled) == sum(sampler.corpus.count("train", name) for name in names)
    for side, model, column in (("en", subword.source, 0), ("fa", subword.target, 1)):
        texts = [text for name in names for text in sampler.corpus.lines("train", name, side)]  # type: ignore[arg-type]
        assert model.decode_ids([row[column] for row in sampled]) == texts
        others = sum(row[column] != ids for row, ids in zip(sampled, model.encode(texts), strict=True))
        assert others > len(sampled) / 2, "most sentences should be cut otherwise"


def test_samples_depend_only_on_seed_epoch_and_sentence(
    sampler: EpochSampler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = expected(sampler, tmp_path, 4)
    assert expected(sampler, tmp_path, 4, processes=2) == first
    assert expected(sampler, tmp_path, 5) != first
    assert expected(dataclasses.replace(sampler, seed=4), tmp_path, 4) != first
    monkeypatch.setattr(sampling, "_SENTENCES", 7)
    assert expected(sampler, tmp_path, 4) == first
    other = dataclasses.replace(sampler, strength=0.4)
    assert len({sampler.fingerprint("a"), sampler.fingerprint("b"), other.fingerprint("a"), "a", "b"}) == 5


def test_each_draw_of_a_pair_is_augmented_and_sampled_anew(sampler: EpochSampler, tmp_path: Path) -> None:
    sampler = dataclasses.replace(sampler, augmentation=AugmentationConfig(typos=0.8))
    thrice, subword = expected(sampler, tmp_path, 0, times=3), SubwordPair.load(sampler.subword_folder)
    assert thrice[::3] == expected(sampler, tmp_path, 0)
    models = (subword.source, subword.target)
    english, persian = (model.decode_ids([row[side] for row in thrice]) for side, model in enumerate(models))
    assert persian[::3] == persian[1::3] == persian[2::3]
    for drawn in (english, [row[1] for row in thrice]):
        assert sum(one != other for one, other in zip(drawn[::3], drawn[1::3], strict=True)) > len(thrice) / 9, (
            "a third"
        )
    one, two = draws(sampler).values()
    sampler.write(0, {"one": 0 * one, "two": (times := np.arange(len(two)) % 3)}, tmp_path)
    wanted = [thrice[3 * (len(one) + pair) + draw] for pair, count in enumerate(times) for draw in range(count)]
    assert rows(PairStore.open(tmp_path, ["one", "two"])) == wanted


def test_augmented_text_differs_by_epoch_but_not_by_number_of_processes(sampler: EpochSampler, tmp_path: Path) -> None:
    plain = dataclasses.replace(sampler, strength=0.0)
    augmented = dataclasses.replace(
        plain, augmentation=AugmentationConfig(typos=0.5, final_punctuation=0.5, numbers=0.5)
    )
    names, model = sampler.corpus.names("train"), SubwordPair.load(sampler.subword_folder).source
    texts = [text for name in names for text in sampler.corpus.lines("train", name, "en")]
    assert [row[0] for row in expected(plain, tmp_path, 0)] == model.encode(texts)
    first = expected(augmented, tmp_path, 0)
    others = sum(row[0] != ids for row, ids in zip(first, model.encode(texts), strict=True))
    assert len(texts) / 8 < others < len(texts)
    assert expected(augmented, tmp_path, 0, processes=2) == first != expected(augmented, tmp_path, 1)
    assert augmented.fingerprint("a") != plain.fingerprint("a")
    sampled = expected(dataclasses.replace(augmented, strength=0.5), tmp_path, 0)
    assert model.decode_ids([row[0] for row in sampled]) == model.decode_ids([row[0] for row in first])


def test_a_sample_that_is_too_long_is_replaced_by_the_plain_pieces(sampler: EpochSampler, tmp_path: Path) -> None:
    model = SubwordPair.load(sampler.subword_folder).source
    texts = [text for name in ("one", "two") for text in sampler.corpus.lines("train", name, "en")]
    free = [row[0] for row in expected(sampler, tmp_path, 0)]
    limit = sorted(map(len, free))[len(free) // 2]
    bound = [row[0] for row in expected(dataclasses.replace(sampler, max_length=limit), tmp_path, 0)]
    assert bound == [plain if len(ids) >= limit else ids for ids, plain in zip(free, model.encode(texts), strict=True)]


def test_an_augmentation_that_makes_one_side_too_long_is_undone_on_both(sampler: EpochSampler, tmp_path: Path) -> None:
    names, subword = sampler.corpus.names("train"), SubwordPair.load(sampler.subword_folder)
    pairs = [pair for name in names for pair in sampler.corpus.pairs("train", name)]
    plain = [subword.source.encode([source])[0] for source, _ in pairs]
    doubled = AugmentationConfig(typos=1.0)
    limit = sorted(map(len, plain))[len(plain) // 2]
    for strength in (0.0, 0.5):
        changed = dataclasses.replace(sampler, strength=strength, augmentation=doubled)
        free, bound = (
            [subword.source.decode_ids([row[0]])[0] for row in expected(one, tmp_path / f"{strength}", 0)]
            for one in (changed, dataclasses.replace(changed, max_length=limit))
        )
        taken_back = sum(one != other for one, other in zip(free, bound, strict=True))
        assert taken_back > 10 and set(bound) <= {*free, *subword.source.decode_ids(plain)}
        targets = subword.target.encode([target for _, target in pairs])
        rows = zip(bound, subword.source.decode_ids(plain), targets, strict=True)
        too_long = [one == other for one, other, target in rows if len(target) >= limit]
        assert len(too_long) > 10 and all(too_long), "the other side decides as well"


@pytest.mark.parametrize("large", [False, True])
def test_sampled_epochs_come_in_order_and_leave_no_files(
    sampler: EpochSampler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    monkeypatch.setattr(sampling, "_WORTH_PROCESSES", 0 if large else 10**9)
    prepared = tmp_path / "prepared"
    for left_over in ("sampled-1", ".sampled-2.partial", "tokens-1"):
        (prepared / left_over / "train").mkdir(parents=True)
    with contextlib.closing(sampled_epochs(sampler, lambda epoch: draws(sampler), 2, prepared)) as epochs:
        stores = list(itertools.islice(epochs, 2))
        assert [path.name for path in prepared.iterdir()] == ["tokens-1"]
        assert [rows(pairs) for pairs in stores] == [expected(sampler, tmp_path / "here", epoch) for epoch in (2, 3)]


def test_stopped_or_failed_sampling_leaves_no_files(sampler: EpochSampler, tmp_path: Path) -> None:
    def stop() -> None:
        raise Interrupted(15)

    with pytest.raises(Interrupted):
        next(sampled_epochs(sampler, lambda epoch: draws(sampler), 0, tmp_path / "prepared", check=stop))
    gone = dataclasses.replace(sampler, corpus=dataclasses.replace(sampler.corpus, directory=tmp_path / "gone"))
    with pytest.raises(StorageError, match=r"one\.en is damaged \(the file is missing\)"):
        next(sampled_epochs(gone, lambda epoch: draws(sampler), 0, tmp_path / "prepared"))
    assert list((tmp_path / "prepared").iterdir()) == []
