"""Names of folders that depend on what is in them."""

from pathlib import Path

from translator.prepared import damaged, fingerprint_of, prepared_folder


def test_the_fingerprint_depends_on_values_and_not_on_their_order() -> None:
    # The value is fixed: another way to compute it would orphan everything that is prepared already.
    expected = "e74ef954de57cf95aa0e2037d8b7062e"
    assert fingerprint_of({"b": [1, "کتاب"], "a": None}).startswith(expected)
    assert fingerprint_of({"a": None, "b": [1, "کتاب"]}).startswith(expected)
    assert fingerprint_of({"a": None, "b": [2, "کتاب"]}) != fingerprint_of({"a": None, "b": [1, "کتاب"]})


def test_a_folder_is_named_by_the_first_digits() -> None:
    assert prepared_folder("data/prepared", "tokens", "0123456789abcdef" * 4) == Path(
        "data/prepared/tokens-0123456789abcdef"
    )


def test_damage_says_what_to_delete() -> None:
    assert str(damaged("the store a", "2 bytes", Path("p/tokens-1"))) == (
        "the store a is damaged (2 bytes); delete the folder p/tokens-1 and run the same command again: it is rebuilt"
    )
