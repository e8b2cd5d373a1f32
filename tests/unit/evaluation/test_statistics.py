"""Intervals, pass@k and paired tests against published or hand-computed values."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracemill.evaluation.statistics import (
    clustered_interval,
    compare_paired,
    holm,
    mcnemar_exact,
    paired_bootstrap,
    pass_at_k,
    rate,
    wilson_interval,
)


def test_wilson_interval_has_the_textbook_values():
    assert wilson_interval(15, 75) == pytest.approx((0.1251, 0.3041), abs=1e-4)
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.27753), abs=1e-5)
    assert wilson_interval(10, 10) == pytest.approx((0.72247, 1.0), abs=1e-5)


def test_a_rate_carries_the_worth_of_one_problem():
    assert rate(57, 75).step == pytest.approx(1 / 75)
    assert rate(57, 75).value == pytest.approx(0.76)


def test_a_rate_of_nothing_is_unknown_rather_than_zero():
    assert rate(0, 0).value is None


@pytest.mark.parametrize(("hits", "n"), [(1, 0), (-1, 5), (6, 5)])
def test_impossible_counts_are_refused(hits, n):
    with pytest.raises(ValueError, match="hits"):
        wilson_interval(hits, n)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_rate_and_stays_in_the_unit_range(counts):
    hits, n = counts
    low, high = wilson_interval(hits, n)
    assert 0 <= low <= hits / n <= high <= 1


def test_pass_at_k_equals_the_mean_over_all_draws():
    outcomes = [True, False, False, True, False, False]
    draws = list(itertools.combinations(outcomes, 3))
    assert pass_at_k(6, 2, 3) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_pass_at_one_is_the_success_rate():
    assert pass_at_k(8, 3, 1) == pytest.approx(3 / 8)


def test_pass_at_k_is_certain_when_fewer_failures_than_k():
    assert pass_at_k(8, 5, 4) == 1.0


def test_mcnemar_is_the_exact_sign_test():
    assert mcnemar_exact(1, 9) == pytest.approx(0.021484375)
    assert mcnemar_exact(0, 0) == 1.0
    assert mcnemar_exact(3, 3) == 1.0


def test_paired_comparison_counts_who_solved_what():
    a = [True, True, False, False, False]
    b = [True, False, True, True, False]
    test = compare_paired(a, b, seed=0)
    assert (test.both, test.only_a, test.only_b, test.neither) == (1, 1, 2, 1)
    assert test.difference == pytest.approx(0.2)
    assert test.p_value == 1.0


def test_equal_outcomes_differ_by_nothing_as_far_as_so_few_problems_can_say():
    test = compare_paired([True, False] * 5, [True, False] * 5, seed=0)
    assert (test.difference, test.p_value) == (0.0, 1.0)
    assert (test.low, test.high) == pytest.approx((-0.27753, 0.27753), abs=1e-5)


def test_values_that_all_agree_get_the_interval_that_their_number_allows():
    assert paired_bootstrap([0.0] * 10, seed=0, least=0.0) == pytest.approx((0.0, 0.27753), abs=1e-5)
    assert paired_bootstrap([1.0] * 10, seed=0, least=0.0) == pytest.approx((0.72247, 1.0), abs=1e-5)


def test_turns_of_one_episode_count_as_one_observation():
    values = [1.0] * 5 + [0.0] * 5 + [1.0] * 5 + [0.0] * 5
    each = clustered_interval(values, [str(i) for i in range(20)], seed=0)
    together = clustered_interval(values, [str(i // 5) for i in range(20)], seed=0)
    assert together[0] < each[0] < 0.5 < each[1] < together[1]
    assert together == (0.0, 1.0)
    assert clustered_interval([0.0] * 20, [str(i // 2) for i in range(20)], seed=0)[1] == pytest.approx(
        0.27753, abs=1e-5
    )


def test_holm_multiplies_the_smallest_by_all_and_never_falls():
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_bootstrap_is_repeatable_by_seed_and_brackets_the_mean():
    differences = [1.0] * 20 + [0.0] * 70 + [-1.0] * 10
    first = paired_bootstrap(differences, seed=7)
    assert first == paired_bootstrap(differences, seed=7)
    assert first[0] < 0.1 < first[1]
    assert first[1] - first[0] == pytest.approx(2 * 1.96 * (0.29 / 100) ** 0.5, rel=0.05)
