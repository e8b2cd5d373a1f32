import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracemill.errors import StageError
from tracemill.training.kto import arrange, split_row, weights


@given(st.lists(st.sampled_from("abcdef"), max_size=40), st.integers(2, 6), st.integers(0, 3))
def test_no_batch_holds_two_rows_of_one_problem(problems, batch, seed):
    order = arrange(problems, batch, seed)
    assert len(order) % batch == 0
    assert len(set(order)) == len(order)
    for start in range(0, len(order), batch):
        chosen = [problems[i] for i in order[start : start + batch]]
        assert len(set(chosen)) == batch


def test_the_order_depends_on_the_seed_alone():
    problems = [str(i % 7) for i in range(28)]
    assert arrange(problems, 4, 1) == arrange(problems, 4, 1)
    assert arrange(problems, 4, 1) != arrange(problems, 4, 2)


@pytest.mark.parametrize(("good", "bad", "expected"), [(30, 10, (1.0, 3.0)), (10, 30, (3.0, 1.0)), (5, 5, (1.0, 1.0))])
def test_both_kinds_weigh_the_same_in_sum(good, bad, expected):
    assert weights(good, bad) == expected
    assert good * expected[0] == bad * expected[1]


def test_one_kind_alone_is_refused():
    with pytest.raises(StageError, match="0 undesirable"):
        weights(4, 0)


def test_the_completion_starts_with_the_first_supervised_token_and_its_mask_leaves_observations_out():
    assert split_row([1, 2, 3, 4, 5], [-100, 2, -100, 4, -100]) == ([1], [2, 3, 4, 5], [1, 0, 1, 0])
