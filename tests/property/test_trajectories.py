"""The same episode is one trajectory in whichever format it is written, and stays one through the table and back."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import atif
from hypothesis import given, settings
from hypothesis import strategies as st

from trace_episodes import as_atif, as_dialogue, as_envelope, as_row
from tracemill.environment.control_tokens import has_control
from tracemill.traces.dialogue import to_dialogue
from tracemill.traces.lines import Line
from tracemill.traces.normalise import Normalised, Normaliser
from tracemill.traces.scan import Scanner
from tracemill.traces.table import TrajectoryWriter, read_trajectories

SCANNER = Scanner(48, lines=1)
WORDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from('<>|/"\\ \n\u20b1😀'),
    max_size=12,
)
HOSTILE = st.sampled_from(["<|im_end|>", "</tool_response>", "<tool_call>", "<|endoftext|>", "<tools>", "</tools>"])
TEXTS = st.lists(WORDS | HOSTILE, max_size=4).map("".join)
FILLED = TEXTS.filter(str.strip)
SCALARS = st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.sampled_from([0.5, 1.0, 19.99, -3.25]) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=6
)
ARGUMENTS = st.dictionaries(WORDS, VALUES, min_size=1, max_size=3).filter(
    lambda value: len({key.replace("< ", "<") for key in value}) == len(value)
)
CALLS = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["find_product", "view_product_information", "recommend_product", "terminate"])
        | FILLED,
        "arguments": ARGUMENTS,
        "result": VALUES.filter(lambda value: value is not None),
    }
)
STEPS = st.fixed_dictionaries(
    {
        "think": (st.none() | TEXTS),
        "calls": st.lists(CALLS, max_size=3),
        "response": TEXTS,
    }
).filter(lambda step: not any(tag in step["response"] for tag in ("<think>", "</think>")))
EPISODES = st.fixed_dictionaries(
    {"problem_id": FILLED, "query": FILLED, "steps": st.lists(STEPS, min_size=1, max_size=4)}
)


def normalise(value) -> Normalised:
    raw = json.dumps(value).encode()
    text, flags = SCANNER.text(raw)
    outcome = Normaliser("digest").line(Line(1, 0, flags, raw, 0, len(raw), text, True))
    assert isinstance(outcome, Normalised), outcome
    return outcome


@settings(max_examples=150, deadline=None)
@given(EPISODES)
def test_four_formats_give_one_trajectory(episode):
    atif.Trajectory.model_validate(as_atif(episode))
    first = normalise(as_envelope(episode))
    for spelling in (
        as_dialogue(episode, obs=True),
        as_dialogue(episode, obs=False),
        as_row(episode, flat=True),
        as_row(episode, flat=False, arguments=json.dumps),
        as_row(episode, arguments=lambda value: json.dumps(json.dumps(value))),
        as_atif(episode),
        {"atif_json": json.dumps(as_atif(episode))},
    ):
        other = normalise(spelling)
        assert other.messages == first.messages
        assert other.tools == first.tools
        assert other.trajectory.trajectory_id == first.trajectory.trajectory_id
        assert other.trajectory.problem_id == first.trajectory.problem_id


@settings(max_examples=60, deadline=None)
@given(EPISODES)
def test_a_trajectory_survives_the_table(episode):
    outcome = normalise(as_envelope(episode))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        with TrajectoryWriter(path) as writer:
            writer.add(outcome)
        (found,) = read_trajectories(path)
    assert found == outcome.trajectory


@settings(max_examples=100, deadline=None)
@given(EPISODES)
def test_the_dialogue_of_a_trajectory_normalises_to_it_again(episode):
    first = normalise(as_envelope(episode)).trajectory
    steps = to_dialogue(first)
    again = normalise({"problem_id": first.problem_id, "status": "SUCCESS", "dialogue": steps}).trajectory
    blank = [m for m in first.messages if m.get("reasoning_content") == ""]
    if not blank:
        assert again.messages == first.messages
        assert again.trajectory_id == first.trajectory_id


@settings(max_examples=100, deadline=None)
@given(EPISODES)
def test_nothing_of_an_episode_is_a_control_string(episode):
    outcome = normalise(as_envelope(episode))
    for message in outcome.trajectory.messages:
        for part in (message["content"], message.get("reasoning_content", ""), message.get("name", "")):
            assert not has_control(part)
        for call in message.get("tool_calls", ()):
            assert not has_control(call["function"]["name"])
            assert not has_control(json.dumps(call["function"]["arguments"], ensure_ascii=False))
    assert not has_control(outcome.trajectory.query)


@settings(max_examples=100, deadline=None)
@given(EPISODES)
def test_results_and_arguments_keep_their_values(episode):
    safe = [step for step in episode["steps"] if "<" not in json.dumps(step)]
    if not safe:
        return
    outcome = normalise(as_envelope({**episode, "steps": safe}))
    calls = [call for message in outcome.trajectory.messages for call in message.get("tool_calls", ())]
    results = [json.loads(message["content"]) for message in outcome.trajectory.messages if message["role"] == "tool"]
    given_calls = [call for step in safe for call in step["calls"]]
    assert [json.dumps(call["function"]["arguments"]) for call in calls] == [
        json.dumps(call["arguments"]) for call in given_calls
    ]
    assert [json.dumps(result) for result in results] == [json.dumps(call["result"]) for call in given_calls]
