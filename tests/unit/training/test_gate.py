from types import SimpleNamespace

import pytest

from tracemill.environment.episode import Call, Episode, Turn
from tracemill.environment.grading import ProductTable, grade_dialogue
from tracemill.environment.params import PlayParams
from tracemill.environment.problem import Problem
from tracemill.evaluation.parse import parse_turn
from tracemill.evaluation.policies import Sampling
from tracemill.evaluation.records import make_record
from tracemill.leakage.nodes import problem_key
from tracemill.leakage.pools import TRAIN, Pools
from tracemill.training.gate import balance, chats_of_kind, distinct, first_by_hash, select_rows, share_of, wants_corpus
from tracemill.training.masks import Candidate, Row
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


RECOMMEND = Turn(think="This one.", calls=[Call("recommend_product", {"product_ids": "p1"})])


def episode_record(*turns):
    """The record of an episode about the product p1 in which these turns were played."""
    problem = Problem("mug", "product", "I need a mug.", {"product_id": "p1"})
    catalog = ProductTable([{"product_id": "p1", "shop_id": "s", "title": "mug", "price": 5.0, "service": []}])
    episode = Episode(catalog, problem)
    for turn in turns:
        episode.step(turn)
    return make_record("mug#0", episode, grade_dialogue(problem, episode.dialogue(), catalog), [], Sampling())


@pytest.mark.parametrize("kind", ["rejection", "teacher_sft", "kto"])
@pytest.mark.parametrize(
    ("last", "taken"),
    [
        (Turn(think="Done.", calls=[Call("terminate", {"status": "success"})]), True),
        (Turn(content="Here is your mug."), True),
        (parse_turn("<think>\nDone.\n</think>\n\n<tool_call>\n{'name': 'terminate'}\n</tool_call>"), False),
        (parse_turn("<think>\nIs this the one? Is this the", finish="length"), False),
        (Turn(error="timeout"), False),
        (Turn(error="context_limit"), False),
    ],
)
def test_an_episode_whose_last_turn_was_not_taken_is_no_row_whatever_its_score(kind, last, taken):
    record = episode_record(RECOMMEND, last)
    assert record.success
    pools = Pools({problem_key(record.problem.query, record.problem.gold_ids): TRAIN}, [])
    (chat,) = chats_of_kind(kind, None, [record], pools, PlayParams())
    assert isinstance(chat, Candidate) is taken
    assert taken or chat[1].reason == "broken_turn"
