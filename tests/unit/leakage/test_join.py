"""The exact join: boundaries, repetitions, empties, and rapidfuzz as the witness."""

import pytest
from rapidfuzz.distance import Indel

from tracemill.leakage.join import dice_pairs
from tracemill.leakage.normalise import content_tokens


def test_a_pair_exactly_at_the_threshold_is_found():
    left, right = ["a", "b", "c", "d", "e"], ["a", "b", "c", "x", "y"]
    assert Indel.normalized_similarity(left, right) == pytest.approx(0.6)
    assert dice_pairs([left, right]) == [(0, 1, 3)]


def test_a_pair_just_below_the_threshold_is_not_found():
    assert dice_pairs([list("abcdef"), list("abcxy")]) == []


def test_sizes_may_differ_as_far_as_the_ratio_allows():
    assert dice_pairs([list("abc"), list("abcdefg")]) == [(0, 1, 3)]
    assert dice_pairs([list("abc"), list("abcdefgh")]) == []


def test_repeated_tokens_count_once_and_empty_sets_never_pair():
    assert dice_pairs([["a", "a"], [], ["a"], []]) == [(0, 2, 1)]


def test_equal_sets_pair_under_every_ratio():
    assert dice_pairs([list("ab"), list("ab"), list("ba")], 1, 1) == [(0, 1, 2), (0, 2, 2), (1, 2, 2)]


@pytest.mark.parametrize("ratio", [(0, 1), (2, 1), (-1, 2)])
def test_a_ratio_outside_its_range_is_refused(ratio):
    with pytest.raises(ValueError, match="ratio"):
        dice_pairs([], *ratio)


def test_small_blocks_find_the_same(monkeypatch):
    sets = [content_tokens(f"item {i % 7} kind {i % 5} colour {i % 3} shade {i % 11}") for i in range(200)]
    whole = dice_pairs(sets)
    monkeypatch.setattr("tracemill.leakage.join.BLOCK_WORK", 50)
    assert dice_pairs(sets) == whole
    assert len(whole) > 100
