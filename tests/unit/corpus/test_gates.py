"""The row gates keep, or name the reason; the order of asking is fixed."""

import json
from pathlib import Path

import pytest

from tracemill.corpus.axis import decide_axis
from tracemill.corpus.gates import REASONS, Facts, ask_gates
from tracemill.corpus.measures import measure, supported_turns
from tracemill.corpus.params import AxisParams, GateParams
from tracemill.corpus.ranking import LEFT_BEHIND, SFT, UNDESIRABLE
from tracemill.traces import rejects

PAGE = Path(__file__).resolve().parents[3] / "docs" / "snapshots.md"

GATES = GateParams(min_reasoning_coefficient=0.7, unjudged="keep", token_budget=1000, bytes_per_token=2.0)
AXIS = AxisParams(min_completion_tokens=30, min_supported_share=1.0, max_think_template_share=0.5, admit_unknown=False)
GOOD = {
    "reasoning_coefficient": 0.9,
    "unpaired": None,
    "unparsable": None,
    "recommend_count": 1,
    "terminated": True,
}


def call(name, **arguments):
    return {"id": "call_0", "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(think="", content="", *calls):
    return {"role": "assistant", "content": content, "reasoning_content": think, "tool_calls": list(calls)}


def text(*messages):
    return json.dumps([{"role": "user", "content": "a red mug"}, *messages])


ACTING = text(assistant("I search.", "", call("find_product", q="red mug")))
THINKING = text(assistant("I search.", "", call("find_product", q="red mug")), assistant("I am done."))


@pytest.mark.parametrize(
    ("change", "messages", "reason"),
    [
        ({}, ACTING, None),
        ({"reasoning_coefficient": None}, ACTING, None),
        ({"reasoning_coefficient": 0.6999}, ACTING, "low_reasoning"),
        ({"unpaired": "step 2, call 1: find_product"}, ACTING, "unpaired_call"),
        ({"recommend_count": 2}, ACTING, "recommend_count"),
        ({"recommend_count": 0}, ACTING, "recommend_count"),
        ({"recommend_count": 0, "terminated": False}, THINKING, "think_then_stop"),
        ({"terminated": False}, ACTING, "think_then_stop"),
        ({"unparsable": "product_ids is a number"}, ACTING, "unparsable_recommendation"),
    ],
)
def test_gates_keep_or_name_the_reason(change, messages, reason):
    reject = ask_gates(Facts({**GOOD, **change}, measure(messages), len(messages)), GATES)

    assert (reject.reason if reject else None) == reason


def test_a_row_over_the_token_budget_is_dropped_with_its_estimate():
    reject = ask_gates(Facts(GOOD, measure(ACTING), 2002), GATES)

    assert (reject.reason, reject.detail, reject.gate) == ("over_budget", "about 1001 tokens, budget 1000", "format")


def test_an_unjudged_row_is_its_own_state_and_can_be_dropped():
    strict = GATES.model_copy(update={"unjudged": "drop"})

    assert ask_gates(Facts({**GOOD, "reasoning_coefficient": None}, measure(ACTING), 10), strict).reason == "unjudged"


def test_the_reasoning_gate_is_asked_before_the_format_gate():
    reject = ask_gates(Facts({**GOOD, "reasoning_coefficient": 0.3, "unpaired": "x"}, measure(ACTING), 10), GATES)

    assert reject.reason == "low_reasoning"
    assert REASONS[1] == "low_reasoning"


TWO_TURNS = text(
    assistant("First a search.", "", call("find_product", q="red mug")),
    {"role": "tool", "tool_call_id": "call_0", "name": "find_product", "content": "[]"},
    assistant("Then I recommend.", "", call("recommend_product", product_ids="1"), call("terminate", status="success")),
)


@pytest.mark.parametrize(("tokens", "axis"), [([30, 45], "A"), ([29, 45], "B"), ([0, 45], "B"), ([None, None], "B")])
def test_the_proxy_log_decides_the_axis_turn_by_turn(tokens, axis):
    measures = measure(TWO_TURNS)
    turns = json.dumps([{"step": i, "inference_tokens": n} for i, n in enumerate(tokens)])

    verdict = decide_axis(measures, supported_turns(turns, measures.acts, 30), AXIS)

    assert (verdict.axis, verdict.basis) == (axis, "proxy")


@pytest.mark.parametrize("tokens", [[0, 0, 45, 45], [45, 0, 45, 45], [0, 45, 45, 45]])
def test_inference_of_turns_that_do_not_act_supports_no_other(tokens):
    measures = measure(text(*json.loads(TWO_TURNS), assistant("", "Found it."), assistant("", "Goodbye.")))
    turns = json.dumps([{"step": i, "inference_tokens": n} for i, n in enumerate(tokens)])

    verdict = decide_axis(measures, supported_turns(turns, measures.acts, 30), AXIS)

    assert measures.acts == (True, True, False, False)
    assert (verdict.axis, verdict.basis) == ("B", "proxy")


@pytest.mark.parametrize(
    ("thoughts", "axis"),
    [
        ([], "B"),
        (["Let me look.", "That one is too dear."], "unknown"),
        (["Step 1 of 9", "Step 2 of 9", "Step 3 of 9"], "B"),
        (["Let me look.", "Too dear, I sort by price.", "This one fits."], "A"),
    ],
)
def test_without_a_proxy_log_structure_decides_and_says_so(thoughts, axis):
    turns = [assistant(t, "", call("find_product", q=t)) for t in thoughts] or [assistant("", "", call("terminate"))]

    verdict = decide_axis(measure(text(*turns)), None, AXIS)

    assert (verdict.axis, verdict.basis) == (axis, "structure")


def test_calls_batched_by_code_are_axis_b_without_a_log():
    batched = assistant("I search.", "", call("find_product", q="a"), call("find_product", q="b"))

    assert decide_axis(measure(text(batched)), None, AXIS).axis == "B"


def test_measures_ignore_tool_results_and_the_order_of_argument_keys():
    one = measure(text(assistant("x", "", call("find_product", q="a", page=1)), {"role": "tool", "content": "1"}))
    two = measure(text(assistant("x", "", call("find_product", page=1, q="a")), {"role": "tool", "content": "22"}))
    other = measure(text(assistant("x", "", call("find_product", page="1", q="a"))))

    assert one == two
    assert one.action_signature != other.action_signature


@pytest.mark.parametrize("reason", [*rejects.REASONS, *REASONS, *LEFT_BEHIND, SFT, UNDESIRABLE])
def test_every_reason_to_leave_a_row_out_is_on_the_page(reason):
    assert f"`{reason}`" in PAGE.read_text(encoding="utf-8")
