from types import SimpleNamespace

import pytest

from tracemill.training.gate import balance, distinct, first_by_hash, select_rows, share_of, wants_corpus
from tracemill.training.masks import Row
from tracemill.training.params import StageRows


def row(name, category="product", source="rollout", ids=None):
    tokens = ids or [len(name), *name.encode()]
    return Row(name=name, source=source, problem_id=name, category=category, input_ids=tokens, labels=tokens)


def names(rows):
    return [r.name for r in rows]


def test_rows_with_equal_tokens_count_once():
    assert names(distinct([row("a", ids=[1]), row("b", ids=[1]), row("c", ids=[2])])) == ["a", "c"]


def test_the_voucher_bucket_is_repeated_up_to_the_shop_count():
    rows = [row("s1", "shop"), row("s2", "shop"), row("s3", "shop"), row("v1", "voucher"), row("p1")]
    assert names(balance(rows, "voucher", "shop")) == ["s1", "s2", "s3", "v1", "p1", "v1", "v1"]
    assert names(balance(rows[:3], "voucher", "shop")) == ["s1", "s2", "s3"]


@pytest.mark.parametrize(("share", "expected"), [(0.5, 4), (0.0, 0), (1.0, 10), (0.2, 1)])
def test_corpus_rows_make_up_the_wanted_share(share, expected):
    corpus = [row(f"c{i}", source="corpus") for i in range(10)]
    assert len(share_of(corpus, 4, share)) == expected


def test_a_larger_choice_keeps_the_rows_of_a_smaller_one_in_their_order():
    rows = [row(f"r{i}") for i in range(20)]
    small, large = names(first_by_hash(rows, 5)), names(first_by_hash(rows, 9))
    assert set(small) < set(large)
    assert large == sorted(large, key=lambda name: int(name[1:]))


def test_rejection_mixes_its_own_successes_half_and_half_with_the_corpus():
    rows = [row(f"c{i}", source="corpus") for i in range(10)] + [row(f"o{i}") for i in range(3)]
    chosen = select_rows("rejection", rows, StageRows(corpus_share=0.5))
    assert [r.source for r in chosen] == ["corpus"] * 3 + ["rollout"] * 3


def test_sft_takes_all_corpus_rows_and_repeats_what_it_is_told_to():
    rows = [row("a", "shop", "corpus"), row("b", source="corpus")]
    assert names(select_rows("sft", rows, StageRows(upsample={"shop": 2}))) == ["a", "a", "b"]


def test_a_parent_that_solved_nothing_leaves_the_corpus_to_train_on():
    rows = [row(f"c{i}", source="corpus") for i in range(3)]
    assert names(select_rows("rejection", rows, StageRows(corpus_share=0.5))) == ["c0", "c1", "c2"]


@pytest.mark.parametrize(
    ("kind", "share", "success", "wanted"),
    [
        ("teacher_sft", 0.0, True, False),
        ("teacher_sft", 0.0, False, True),
        ("rejection", 0.5, True, True),
        ("sft", 0.0, False, True),
        ("kto", 0.0, True, True),
        ("dr_grpo", 1.0, True, False),
    ],
)
def test_the_corpus_is_not_read_where_no_row_of_it_can_be_chosen(kind, share, success, wanted):
    records = [SimpleNamespace(success=False), SimpleNamespace(success=success)]
    assert wants_corpus(kind, records, StageRows(corpus_share=share)) is wanted
