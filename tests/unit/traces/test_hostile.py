"""What a stranger can put into a line is counted, never a crash and never a changed value."""

import copy
import json

import pytest

from trace_episodes import as_atif, as_dialogue, as_envelope, as_row, example, line
from tracemill.traces.normalise import Normalised, read_snapshot
from tracemill.traces.params import NormaliseParams
from tracemill.traces.rejects import REASONS

PARAMS = NormaliseParams(max_line_megabytes=9.0, max_inflation=100.0, max_broken_share=1.0)
GOOD = line(as_envelope(example())).rstrip()
PLACES = {
    "a field that nobody reads": (b'"status":', b'"other": VALUE, "status":'),
    "a result": (b'"Error: timeout"', b"VALUE"),
    "an argument": (b'"red lamp"', b"VALUE"),
    "a timestamp": (b"1750000000001", b"VALUE"),
}


@pytest.fixture
def read(tmp_path):
    def read(content: bytes):
        path = tmp_path / "raw"
        path.write_bytes(content)
        return [outcome for _, outcome in read_snapshot(path, "digest", PARAMS)]

    return read


def put(place: str, value: bytes) -> bytes:
    old, new = PLACES[place]
    spoiled = GOOD.replace(old, new.replace(b"VALUE", value), 1)
    assert spoiled != GOOD
    return spoiled + b"\n"


@pytest.mark.parametrize("place", sorted(PLACES))
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"NaN", "number_outside_json"),
        (b"-Infinity", "number_outside_json"),
        (b"12345678901234567890123", "number_outside_json"),
        (b"1e400", "number_outside_json"),
        (b"1" * 5000, "number_outside_json"),
        (rb'"\ud800"', "lone_surrogate"),
        (rb'"\udc00 x"', "lone_surrogate"),
        (rb'"\ud800\u0041"', "lone_surrogate"),
        (rb'"a\u0000b"', "nul_character"),
        (b'"a\x00b"', "bad_json"),
        (b'"\xff"', "bad_utf8"),
        (b'"\xc0\xaf"', "bad_utf8"),
        (b'"\xed\xa0\x80"', "bad_utf8"),
        (b"[" * 60 + b"]" * 60, "too_deep"),
        (b"[" * 100_000 + b"]" * 100_000, "too_deep"),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, "too_deep"),
        (b"'text'", "bad_json"),
        (b"tru", "bad_json"),
        (b"01", "bad_json"),
    ],
)
def test_values_that_no_json_text_may_hold_are_rejected_wherever_they_stand(read, place, value, reason):
    first, second = read(put(place, value) + GOOD + b"\n")
    assert first.reason == reason
    assert isinstance(second, Normalised)


@pytest.mark.parametrize(
    "value",
    [
        b"123456789012345678",
        b"-5",
        b"0.1",
        b"1.5e10",
        b'"\xf0\x9f\x98\x80"',
        rb'"\ud83d\ude00"',
        rb'"a\\u0000b"',
        b"[" * 20 + b"]" * 20,
    ],
)
def test_unusual_values_that_are_sound_are_kept_as_they_are(read, value):
    (outcome,) = read(put("a result", value))
    content = outcome.trajectory.messages[2]["content"]
    assert json.loads(content) == json.loads(value)


def test_arguments_keep_type_and_value(read):
    episode = example()
    given = {"q": "ü €", "page": 1, "price": 1.0, "flag": True, "none": None, "list": [1, "1", {"b": 1, "a": 2}]}
    episode["steps"][0]["calls"][0]["arguments"] = given
    (outcome,) = read(line(as_envelope(episode)))
    found = outcome.trajectory.messages[1]["tool_calls"][0]["function"]["arguments"]
    assert json.dumps(found) == json.dumps(given)


def test_the_order_of_keys_stays_and_does_not_count(read):
    episode, other = example(), example()
    other["steps"][0]["calls"][0]["arguments"] = {"page": 1, "q": "red lamp"}
    first, second = (outcome.trajectory for outcome in read(line(as_envelope(episode)) + line(as_envelope(other))))
    assert list(second.messages[1]["tool_calls"][0]["function"]["arguments"]) == ["page", "q"]
    assert first.trajectory_id == second.trajectory_id


def paths(value, prefix=()):
    """Every place in a JSON value."""
    yield prefix
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(inner, (*prefix, key))


def replaced(value, path, new):
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], new)
    return changed


EXTRAS = {
    "miner_hotkey": "5F",
    "agent_version_id": "7",
    "validator_hotkey": "5V",
    "scoring_version": "3",
    "score": {"gt": 1.0},
    "reasoning": {"score": 0.7, "model": "judge", "explanation": "good"},
    "category": "product",
    "reward": {"product_id": "11"},
    "voucher": None,
}
PROXY = [
    {"path": "/inference/chat/completions", "status_code": 200, "response": {"usage": {"completion_tokens": 40}}},
    {"path": "/search/find_product", "status_code": 200, "response": None},
]


def full_envelope():
    envelope = as_envelope(example(), **EXTRAS)
    envelope["dialogue"][0]["extra_info"]["proxy_calls"] = PROXY
    return envelope


@pytest.mark.parametrize(
    "spelling",
    [full_envelope(), as_dialogue(example()), as_row(example()), as_atif(example())],
    ids=["envelope", "dialogue", "row", "atif"],
)
@pytest.mark.parametrize("wrong", [None, True, 7, 0.5, "text", "", [], {}, [[]], [None], {"a": {}}, [7]])
def test_a_wrong_type_anywhere_is_a_reject_with_a_reason_or_is_not_read(read, spelling, wrong):
    content = b"".join(line(replaced(spelling, path, wrong)) for path in paths(spelling) if path)
    for outcome in read(content):
        assert isinstance(outcome, Normalised) or outcome.reason in REASONS


def test_scores_and_evidence_of_the_arena_are_kept(read):
    (outcome,) = read(line(full_envelope()))
    t = outcome.trajectory
    assert (t.miner, t.agent_version, t.validator, t.scorer_version) == ("5F", "7", "5V", "3")
    assert (t.arena_score, t.reasoning_score, t.judge_model) == ({"gt": 1.0}, 0.7, "judge")
    assert t.reasoning_coefficient == pytest.approx(0.3 + 0.7 * 0.7 / 0.8)
    assert (t.category, t.reward, t.voucher) == ("product", {"product_id": "11"}, None)
    assert (t.inference_calls, t.completion_tokens, t.searches, t.has_proxy_log) == (1, 40, 1, True)
    assert [turn.inference_tokens for turn in t.turns] == [40, 0, 0, 0]


@pytest.mark.parametrize(
    ("quality", "coefficient"), [(0.1, 0.3875), (0.5, 0.7375), (0.8, 1.0), (0.9, 1.0), (None, None)]
)
def test_the_coefficient_follows_from_the_judge(read, quality, coefficient):
    (outcome,) = read(line(as_envelope(example(), reasoning={"score": quality})))
    assert outcome.trajectory.reasoning_coefficient == pytest.approx(coefficient)


@pytest.mark.parametrize("quality", [-0.1, 1.1, 90])
def test_a_judge_outside_its_scale_is_a_bad_shape(read, quality):
    (outcome,) = read(line(as_envelope(example(), reasoning={"score": quality})))
    assert outcome.reason == "bad_shape"


def test_steps_that_disagree_on_the_query_are_a_bad_shape(read):
    envelope = as_envelope(example())
    envelope["dialogue"][1]["extra_info"]["query"] = "another"
    assert read(line(envelope))[0].reason == "bad_shape"


@pytest.mark.parametrize("inner", ["[NaN]", "[12345678901234567890123]", "[" * 60 + "]" * 60, '["\\u0000"]'])
def test_json_inside_of_a_text_result_is_checked_as_well(read, inner):
    row = as_row(example())
    row["messages"][3]["content"] = inner
    (outcome,) = read(line(row))
    if inner == "[NaN]":
        assert outcome.trajectory.messages[2]["content"] == '"[NaN]"'
    else:
        assert outcome.reason in ("number_outside_json", "too_deep", "nul_character")
