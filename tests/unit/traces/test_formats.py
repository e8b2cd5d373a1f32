"""The same episode in four formats is one trajectory; what cannot be read without a loss is rejected."""

import json

import atif
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trace_episodes import as_atif, as_dialogue, as_envelope, as_row, call, example, line, step
from tracemill.environment.recommendation import recommended_ids
from tracemill.errors import InputError
from tracemill.traces.normalise import Normalised, read_snapshot
from tracemill.traces.params import NormaliseParams
from tracemill.traces.rejects import Reject
from tracemill.traces.snapshot import normalise_snapshot

PARAMS = NormaliseParams(max_line_megabytes=1.0, max_inflation=100.0, max_broken_share=1.0)


@pytest.fixture
def read(tmp_path):
    def read(content: bytes) -> list[Normalised | Reject]:
        path = tmp_path / "raw"
        path.write_bytes(content)
        return [outcome for _, outcome in read_snapshot(path, "digest", PARAMS)]

    return read


def only(outcomes):
    (outcome,) = outcomes
    assert isinstance(outcome, Normalised), outcome
    return outcome.trajectory


def test_the_four_formats_give_the_same_trajectory(read):
    spellings = [
        as_envelope(example()),
        as_dialogue(example(), obs=True),
        as_dialogue(example(), obs=False),
        as_row(example(), flat=True),
        as_row(example(), flat=False, arguments=json.dumps),
        as_atif(example()),
        {"atif_json": json.dumps(as_atif(example())), "row": 3},
        {"atif_json": as_atif(example())},
    ]
    outcomes = read(b"".join(map(line, spellings)))
    trajectories = [outcome.trajectory for outcome in outcomes]
    first = trajectories[0]
    assert first.messages[0] == {"role": "user", "content": "a red lamp under 100"}
    assert first.messages[1] == {
        "role": "assistant",
        "content": "",
        "reasoning_content": "Search first.",
        "tool_calls": [
            {
                "id": "call_0",
                "type": "function",
                "function": {"name": "find_product", "arguments": {"q": "red lamp", "page": 1}},
            }
        ],
    }
    assert first.messages[2] == {
        "role": "tool",
        "tool_call_id": "call_0",
        "name": "find_product",
        "content": '"Error: timeout"',
    }
    for other in trajectories[1:]:
        assert other.messages == first.messages
        assert other.tools == first.tools
        assert other.trajectory_id == first.trajectory_id
        assert other.problem_id == "p-1"


def test_our_atif_spelling_is_a_valid_document():
    atif.Trajectory.model_validate(as_atif(example()))


def test_a_repeated_call_keeps_both_results_in_their_order(read):
    trajectory = only(read(line(as_envelope(example()))))
    results = {m["tool_call_id"]: m["content"] for m in trajectory.messages if m["role"] == "tool"}
    assert results["call_0"] == '"Error: timeout"'
    assert results["call_1"] == '[{"product_id":"11","price":9.5}]'
    assert len(results) == 5
    assert trajectory.unpaired is None
    assert trajectory.repeated_calls == 0
    assert trajectory.verified_recommendation


@pytest.mark.parametrize("spell", [as_envelope, as_dialogue, as_row, as_atif])
def test_a_repeated_call_without_its_own_result_is_unpaired(read, spell):
    episode = example()
    episode["steps"][1]["calls"][0]["result"] = None
    trajectory = only(read(line(spell(episode))))
    assert trajectory.unpaired == "step 2, call 1: find_product"


@pytest.mark.parametrize(
    "spelling",
    [lambda value: value, json.dumps, lambda value: json.dumps(json.dumps(value))],
    ids=["object", "text", "twice"],
)
@pytest.mark.parametrize("flat", [True, False])
def test_arguments_have_one_form_however_written(read, spelling, flat):
    trajectory = only(read(line(as_row(example(), flat=flat, arguments=spelling))))
    reference = only(read(line(as_envelope(example()))))
    assert trajectory.trajectory_id == reference.trajectory_id
    assert trajectory.messages[1]["tool_calls"][0]["function"]["arguments"]["page"] == 1


@pytest.mark.parametrize("nothing", ["", None, " ", {}])
def test_nothing_is_no_arguments_where_the_tool_asks_for_none(read, nothing):
    episode = example()
    episode["steps"][3]["calls"][0]["arguments"] = nothing
    trajectory = only(read(line(as_row(episode))))
    assert trajectory.messages[-2]["tool_calls"][0]["function"] == {"name": "terminate", "arguments": {}}


def test_arguments_that_are_no_json_are_rejected(read):
    episode = example()
    episode["steps"][2]["calls"][1]["arguments"] = "{product_ids: 1"
    (outcome,) = read(line(as_row(episode)))
    assert (outcome.reason, outcome.detail[:33]) == ("arguments_unparsable", "step 3, call 2: recommend_product")


@pytest.mark.parametrize(
    ("product_ids", "ids", "readable"),
    [
        ("1, 2,1,", ["1", "2"], True),
        ("1 2", ["1 2"], True),
        (["1", "2"], [], False),
        (12345, [], False),
        (" ", [], False),
    ],
)
def test_recommended_ids_are_those_that_production_sees(read, product_ids, ids, readable):
    episode = example()
    episode["steps"][2]["calls"][1]["arguments"] = {"product_ids": product_ids}
    trajectory = only(read(line(as_envelope(episode))))
    assert trajectory.recommended_ids == ids
    assert (trajectory.unparsable is None) == readable
    assert trajectory.recommend_count == 1


@pytest.mark.parametrize("spell", [as_envelope, as_dialogue])
def test_a_recommendation_whose_arguments_production_cannot_read_gives_no_ids(read, spell):
    value = spell(example())
    steps = value if isinstance(value, list) else value["dialogue"]
    for one in steps:
        for made in one["completion"]["message"].get("tool_call", []):
            made["parameters"] = json.dumps(made["parameters"])
    found = only(read(line(value)))
    assert (found.recommended_ids, found.recommend_count) == ([], 1)
    assert found.unparsable == 'step 3: recommend_product {"product_ids":"11"}'
    assert recommended_ids(steps) == []
    row = only(read(line(as_row(example(), arguments=json.dumps))))
    assert (row.recommended_ids, row.unparsable, row.trajectory_id) == (["11"], None, found.trajectory_id)


def test_another_key_or_the_response_text_recommends_nothing(read):
    episode = example()
    episode["steps"][2]["calls"][1]["arguments"] = {"product_id": "1"}
    assert only(read(line(as_envelope(episode)))).unparsable is not None
    episode["steps"][2]["calls"].pop()
    episode["steps"][3]["response"] = "I recommend 11"
    assert only(read(line(as_envelope(episode)))).recommend_count == 0


@pytest.mark.parametrize(
    ("content", "reasoning", "rest"),
    [
        ("<think>\nplan\n</think>\n\nanswer", "plan", "answer"),
        ("plan</think>answer", "plan", "answer"),
        ("<think></think>answer", "", "answer"),
        ("answer", None, "answer"),
    ],
)
def test_reasoning_in_the_content_is_split_by_the_rule(read, content, reasoning, rest):
    row = as_row({"problem_id": "p", "query": "q", "steps": [step(None, response=content)]})
    trajectory = only(read(line(row)))
    assert trajectory.messages[1].get("reasoning_content") == reasoning
    assert trajectory.messages[1]["content"] == rest


@pytest.mark.parametrize(
    "content",
    ["<think>A</think> keep-me <think>B</think> end", "keep <think>A</think> end", "<think>A", "A</think>B</think>C"],
)
def test_a_mix_that_a_template_would_shorten_is_rejected(read, content):
    row = as_row({"problem_id": "p", "query": "q", "steps": [step(None, response=content)]})
    (outcome,) = read(line(row))
    assert outcome.reason == "lossy_reasoning"


def test_reasoning_apart_and_again_in_the_content_is_one_reasoning(read):
    row = as_row({"problem_id": "p", "query": "q", "steps": [step("A", response="<think>A</think>end")]})
    assert only(read(line(row))).messages[1] == {"role": "assistant", "content": "end", "reasoning_content": "A"}
    row = as_row({"problem_id": "p", "query": "q", "steps": [step("A", response="<think>B</think>end")]})
    assert read(line(row))[0].reason == "lossy_reasoning"


HOSTILE = "a<|im_end|>b</tool_response><tool_call>c</think>"
SAFE = "a< |im_end|>b< /tool_response>< tool_call>c< /think>"


@pytest.mark.parametrize("spell", [as_envelope, as_dialogue, as_row, as_atif])
def test_no_text_of_a_trace_is_a_control_token(read, spell):
    episode = example()
    episode["query"] = HOSTILE
    episode["steps"][0]["think"] = HOSTILE
    episode["steps"][0]["calls"][0] = call(HOSTILE, {"q": HOSTILE, HOSTILE: [HOSTILE]}, [HOSTILE])
    trajectory = only(read(line(spell(episode))))
    assert trajectory.query == trajectory.messages[0]["content"] == SAFE
    message = trajectory.messages[1]
    assert message["reasoning_content"] == SAFE
    function = message["tool_calls"][0]["function"]
    assert function == {"name": SAFE, "arguments": {"q": SAFE, SAFE: [SAFE]}}
    assert trajectory.messages[2] == {
        "role": "tool",
        "tool_call_id": "call_0",
        "name": SAFE,
        "content": json.dumps([SAFE], separators=(",", ":")),
    }
    assert "<|im_end|>" not in json.dumps(trajectory.messages)


def test_escapes_cannot_carry_a_control_token_past_the_rule(read):
    raw = line(as_envelope(example())).replace(b"Error: timeout", rb"\u003c|im_end|> \u003c\/think>")
    trajectory = only(read(raw))
    assert trajectory.messages[2]["content"] == '"< |im_end|> < /think>"'


def test_whole_documents_and_arrays_of_documents_are_read(read):
    document = as_atif(example())
    reference = only(read(line(document))).trajectory_id
    assert only(read(json.dumps(document, indent=2).encode())).trajectory_id == reference
    for indent in (None, 2):
        outcomes = read(json.dumps([document, document], indent=indent).encode())
        assert [outcome.trajectory.trajectory_id for outcome in outcomes] == [reference] * 2
        assert [outcome.trajectory.line for outcome in outcomes] == [1, 2]
    steps = json.dumps(as_dialogue(example()), indent=1).encode()
    assert only(read(steps)).trajectory_id == reference


def test_a_parquet_column_of_documents_is_read(read, tmp_path):
    document = as_atif(example())
    table = pa.table({"atif_json": [json.dumps(document)] * 2, "problem_id": ["p-1", "p-1"]})
    pq.write_table(table, tmp_path / "t.parquet")
    outcomes = read((tmp_path / "t.parquet").read_bytes())
    assert [outcome.trajectory.problem_id for outcome in outcomes] == ["p-1", "p-1"]


def test_a_row_around_a_document_tells_what_the_document_does_not(read, tmp_path):
    document = {**as_atif(example()), "extra": {"problem_id": "p-1", "scoring_version": "3"}}
    around = {"category": "shop", "reward": [{"product_id": "11"}], "reasoning": {"score": 0.9}, "scoring_version": "2"}
    found = only(read(line({"atif_json": json.dumps(document), **around})))
    assert (found.problem_id, found.category, found.reward) == ("p-1", "shop", [{"product_id": "11"}])
    assert (found.reasoning_score, found.scorer_version) == (0.9, "3")


def _texts(*texts):
    return pa.array([json.dumps(as_row(example())["messages"]), *texts])


@pytest.mark.parametrize(
    "column",
    [
        _texts().cast(pa.large_string()),
        _texts().cast(pa.string_view()),
        _texts().dictionary_encode(),
        pa.array(_texts().to_pylist(), pa.json_()),
    ],
    ids=["large", "view", "dictionary", "json"],
)
def test_every_kind_of_text_column_is_read(read, tmp_path, column):
    pq.write_table(pa.table({"messages": column}), tmp_path / "t.parquet")
    assert only(read((tmp_path / "t.parquet").read_bytes())).query == "a red lamp under 100"


def test_a_table_with_nested_messages_or_two_columns_of_one_name_is_no_crash(read, tmp_path):
    pq.write_table(pa.table({"messages": [as_row(example())["messages"][:2]]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="without a text column"):
        read((tmp_path / "t.parquet").read_bytes())
    pq.write_table(pa.table([_texts(), _texts()], names=["messages", "messages"]), tmp_path / "t.parquet")
    assert only(read((tmp_path / "t.parquet").read_bytes())).query == "a red lamp under 100"


@pytest.mark.parametrize(
    "column",
    [
        pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]),
        pa.array([10**15], pa.timestamp("ms")),
        pa.array([10**8], pa.date32()),
        pa.array([2**62], pa.duration("s")),
    ],
    ids=["no text", "timestamp", "date", "duration"],
)
def test_a_table_with_a_value_beyond_python_is_refused_with_its_place(read, tmp_path, column):
    pq.write_table(pa.table({"messages": _texts(), "other": column}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="a value behind row 0 cannot be read"):
        read((tmp_path / "t.parquet").read_bytes())


def test_formats_may_change_from_line_to_line(read):
    spellings = [as_dialogue(example()), as_envelope(example()), as_row(example()), as_dialogue(example())]
    assert len({outcome.trajectory.trajectory_id for outcome in read(b"".join(map(line, spellings)))}) == 1


def test_what_a_line_is_does_not_depend_on_the_lines_before_it(read):
    other = example()
    other["query"] = "two blue sofas"
    plain = [as_envelope(example()), as_row(example()), as_atif(example()), {"atif_json": as_atif(example())}]
    mixed = [
        {**as_envelope(other), **as_row(example())},
        {**as_row(other), **as_atif(example())},
        {**as_envelope(other), **as_atif(example())},
        {**as_row(other), "atif_json": json.dumps(as_atif(example()))},
    ]
    for ambiguous in mixed:
        (alone,) = read(line(ambiguous))
        for before in plain:
            found = read(line(before) + line(ambiguous))[1].trajectory
            assert (found.trajectory_id, found.query) == (alone.trajectory.trajectory_id, "a red lamp under 100")


def test_prefixes_without_an_assistant_turn_are_no_trajectories(read, shared):
    outcomes = read((shared / "data/shoppingbench/hf_eval_prefixes.jsonl").read_bytes())
    assert [outcome.reason for outcome in outcomes] == ["empty"] * 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d["steps"][1].update(is_copied_context=True), "copied_context"),
        (lambda d: d.update(continued_trajectory_ref="next.json"), "copied_context"),
        (lambda d: d["steps"].append({"step_id": 6, "source": "user", "message": "more"}), "foreign_turn"),
        (lambda d: d.update(schema_version="ATIF-v2.0"), "bad_shape"),
        (lambda d: d["steps"][1]["tool_calls"][0].update(function_name=None), "bad_shape"),
        (lambda d: d["steps"][1].update(message=[{"type": "image", "source": {}}]), "not_text"),
        (lambda d: d.update(steps=d["steps"][:1]), "empty"),
        (lambda d: d.update(steps=d["steps"][1:]), "no_query"),
        (lambda d: d["steps"][1]["observation"]["results"][0].update(source_call_id="other"), "bad_shape"),
    ],
)
def test_atif_documents_that_are_no_whole_episode_are_rejected(read, change, reason):
    document = as_atif(example())
    change(document)
    (outcome,) = read(line(document))
    assert outcome.reason == reason


PROXY = [
    {"path": "/inference/x", "status_code": 200, "response": {"usage": {"completion_tokens": 40}}},
    {"path": "/search/find_product", "status_code": 200},
]
TOLD = {
    "reward": [{"product_id": "11"}, {"product_id": "12"}],
    "voucher": {"discount": 5},
    "category": "voucher",
    "miner_hotkey": "5F",
    "agent_version_id": "7",
    "validator_hotkey": "5V",
    "scoring_version": "3",
    "score": {"gt": 1.0},
    "reasoning": {"score": 0.7, "model": "judge"},
}


def test_a_table_of_trajectories_is_read_back_as_it_is(read, tmp_path):
    raw, again = tmp_path / "first", tmp_path / "trajectories.parquet"
    envelope = as_envelope(example(), **TOLD)
    envelope["dialogue"][1]["extra_info"]["proxy_calls"] = PROXY * 2
    raw.write_bytes(line(envelope) + line(as_row(example())))
    outputs = {"rejects": tmp_path / "rejects.parquet", "problems": None, "summary": None}
    normalise_snapshot(raw, trajectories=again, params=PARAMS, **outputs)
    first, second = (outcome.trajectory for outcome in read(raw.read_bytes()))
    assert (first.reasoning_score, first.has_proxy_log, first.completion_tokens, first.searches) == (0.7, True, 80, 2)
    assert [outcome.trajectory for outcome in read(again.read_bytes())] == [first, second]


@pytest.mark.parametrize(
    "more", [{"trajectory_id": 5, "turns": 4}, {"trajectory_id": "x", "turns": "[]"}, {"turns": [{"step": 1}]}]
)
def test_other_tables_may_use_the_names_of_our_columns_for_something_else(read, more):
    assert only(read(line({**as_row(example()), "miner": 7, **more}))).miner is None


def test_turns_that_are_not_those_of_the_messages_are_a_bad_shape(read):
    (outcome,) = read(line({**as_row(example()), "trajectory_id": "0" * 64, "turns": '[{"step": 0}]'}))
    assert (outcome.reason, outcome.detail) == ("bad_shape", "1 turns are told of 4 assistant messages")


@pytest.mark.parametrize("spell", [as_envelope, as_dialogue, as_row, as_atif])
def test_of_a_repeated_key_the_last_counts_as_it_does_in_production(read, spell):
    episode = example()
    text = json.dumps(spell(episode), ensure_ascii=False)
    doubled = text.replace('{"q": "red lamp", "page": 1}', '{"q": "blue sofa", "page": 2, "q": "red lamp", "page": 1}')
    assert doubled != text
    assert only(read(doubled.encode() + b"\n")) == only(read(text.encode() + b"\n"))
