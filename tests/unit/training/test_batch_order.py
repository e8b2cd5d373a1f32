from hypothesis import given
from hypothesis import strategies as st

from tracemill.training.params import OptimiserParams
from tracemill.training.sft import batch_order, step_count

LENGTHS = st.lists(st.integers(1, 500), min_size=1, max_size=60)


@given(LENGTHS, st.integers(1, 8), st.integers(1, 20), st.integers(0, 3))
def test_every_epoch_shows_every_row_once(lengths, batch, steps, seed):
    order = batch_order(lengths, batch, steps, seed)
    assert len(order) == steps * batch
    for start in range(0, len(order) - len(lengths) + 1, len(lengths)):
        assert sorted(order[start : start + len(lengths)]) == list(range(len(lengths)))


def test_rows_of_like_length_share_a_batch_and_batches_come_mixed():
    lengths = list(range(64))
    order = batch_order(lengths, 4, 16, 0)
    batches = [order[at : at + 4] for at in range(0, 64, 4)]
    assert all(max(rows) - min(rows) == 3 for rows in batches)
    means = [sum(rows) / 4 for rows in batches]
    assert means != sorted(means)
    assert means != sorted(means, reverse=True)


def test_steps_follow_from_epochs_where_none_are_given():
    assert step_count(33, OptimiserParams(epochs=2.0, batch=16)) == 5
    assert step_count(33, OptimiserParams(epochs=2.0, batch=16, max_steps=7)) == 7
