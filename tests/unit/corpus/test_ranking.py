"""Duplicates, ranking and caps inside one problem; nothing depends on the order of rows."""

from hypothesis import given
from hypothesis import strategies as st

from tracemill.corpus.params import AxisParams, DedupParams, RankingParams
from tracemill.corpus.ranking import assign_roles

AXIS = AxisParams(min_completion_tokens=30, min_supported_share=1.0, max_think_template_share=0.5, admit_unknown=False)
DEDUP = DedupParams(near_similarity=0.95)
RANKING = RankingParams(cap_per_problem=2, cap_undesirable_per_problem=1)


def row(number, **changes):
    return {
        "trajectory_id": f"t{number}",
        "snapshot_digest": "s",
        "line": number,
        "problem_key": "p",
        "success": True,
        "axis": "A",
        "axis_evidence": "2 of 2",
        "verified_recommendation": False,
        "repeated_calls": 0,
        "think_and_call_turns": 2,
        "distinct_queries": 1,
        "action_signature": f"calls {number}",
        "thoughts": f"thoughts number {number}",
        **changes,
    }


def roles(rows):
    return [role.role for role in assign_roles(rows, AXIS, DEDUP, RANKING)]


def test_verified_rows_rank_before_deeper_ones_and_the_cap_takes_the_rest():
    rows = [row(1), row(2, think_and_call_turns=5), row(3, verified_recommendation=True), row(4, repeated_calls=2)]

    assert roles(rows) == ["over_cap", "sft", "sft", "over_cap"]
    assert [role.rank for role in assign_roles(rows, AXIS, DEDUP, RANKING)] == [2, 1, 0, 3]


def test_rows_that_may_not_enter_say_why():
    rows = [
        row(1, axis="B"),
        row(2, axis="unknown"),
        row(3, success=None),
        row(4, success=False),
        row(5, success=False),
    ]

    assert roles(rows) == ["axis_b", "axis_unknown", "unscored", "undesirable", "over_cap"]


def test_the_same_trajectory_twice_counts_once():
    assert roles([row(1), row(1, line=9)]) == ["sft", "exact_duplicate"]


def test_the_same_calls_with_almost_the_same_thoughts_are_a_near_duplicate():
    thought = "I look for a red mug of steel and compare the prices of the first three."
    rows = [
        row(1, action_signature="same", thoughts=thought),
        row(2, action_signature="same", thoughts=thought + " "),
        row(3, action_signature="same", thoughts="Something else entirely, in other words."),
    ]

    assert roles(rows) == ["sft", "near_duplicate", "sft"]


rows_strategy = st.lists(
    st.builds(
        row,
        st.integers(0, 8),
        problem_key=st.sampled_from("pq"),
        success=st.sampled_from([True, False, None]),
        axis=st.sampled_from(["A", "B", "unknown"]),
        verified_recommendation=st.booleans(),
        think_and_call_turns=st.integers(0, 3),
        action_signature=st.sampled_from("xy"),
        line=st.integers(0, 99),
    ),
    max_size=24,
    unique_by=lambda r: r["line"],
)


@given(rows_strategy, st.randoms())
def test_roles_do_not_depend_on_the_order_of_rows_and_caps_hold(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)

    by_line = {r["line"]: role.role for r, role in zip(rows, assign_roles(rows, AXIS, DEDUP, RANKING), strict=True)}
    again = {r["line"]: role for r, role in zip(shuffled, roles(shuffled), strict=True)}

    assert by_line == again
    for key in "pq":
        lines = [r["line"] for r in rows if r["problem_key"] == key]
        assert sum(by_line[line] == "sft" for line in lines) <= 2
        assert sum(by_line[line] == "undesirable" for line in lines) <= 1
