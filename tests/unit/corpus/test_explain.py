"""`tracemill explain`: what it says of a trajectory, and what it keeps from the terminal."""

import pyarrow.parquet as pq
import pytest

from trace_episodes import as_envelope, call, example, line, step
from tracemill.corpus.explain import explain_trajectory, find_trajectory
from tracemill.corpus.params import AxisParams, GateParams
from tracemill.errors import InputError
from tracemill.traces.params import NormaliseParams
from tracemill.traces.snapshot import normalise_snapshot

GATES = GateParams(min_reasoning_coefficient=0.7, unjudged="drop", token_budget=1000, bytes_per_token=3.0)
AXIS = AxisParams(min_completion_tokens=30, min_supported_share=1.0, max_think_template_share=0.5, admit_unknown=False)
LIMITS = NormaliseParams(max_line_megabytes=1.0, max_inflation=100.0, max_broken_share=1.0)
HOSTILE = "\x1b[31m\r\n\u202e"


@pytest.fixture
def table(tmp_path):
    def write(*envelopes):
        raw, path = tmp_path / "raw", tmp_path / "trajectories.parquet"
        raw.write_bytes(b"".join(map(line, envelopes)))
        rejects = tmp_path / "rejects.parquet"
        normalise_snapshot(raw, trajectories=path, rejects=rejects, problems=None, summary=None, params=LIMITS)
        return path

    return write


def test_it_tells_turns_gates_axis_measures_and_role(table):
    path = table(as_envelope(example(), miner_hotkey="5abc", reasoning={"score": 0.1}))
    row = find_trajectory([path], "")
    role = {"role": "sft", "role_detail": "", "rank": 0, "category": "shop"}
    told = list(explain_trajectory(row, role, GATES, AXIS))

    assert told[0] == f"trajectory {row['trajectory_id']}"
    assert "  miner 5abc, agent unknown" in told
    assert "  problem p-1 (shop): a red lamp under 100" in told
    assert '    calls find_product({"q":"red lamp","page":1})' in told
    assert "  assistant turn 1 (no proxy log)" in told
    assert "  FAIL reasoning: low_reasoning: coefficient 0.3875 is below 0.7" in told
    assert "  pass format: unpaired_call" in told
    assert "axis A by structure: 33% of 3 thoughts follow one template" in told
    assert "  repeated_calls: 0" in told  # the first search had failed
    assert told[-1] == "role sft, rank 0 in its problem"


def test_no_terminal_obeys_what_a_stranger_wrote(table):
    episode = example()
    episode["steps"].append(step(HOSTILE, call(f"tool{HOSTILE}", {"a": HOSTILE}), response=HOSTILE))
    envelope = as_envelope(episode, problem_id=f"p{HOSTILE}", miner_hotkey=HOSTILE, agent_version_id=HOSTILE)
    told = list(explain_trajectory(find_trajectory([table(envelope)], ""), None, GATES, AXIS))

    assert all(one.isprintable() for one in told)
    assert any(one.startswith("  problem p [31m") for one in told)
    assert any("tool [31m" in one for one in told)


def test_a_beginning_must_name_one_trajectory(table):
    other = {**example(), "query": "a blue lamp"}
    path = table(as_envelope(example()), as_envelope(other), as_envelope(example()))
    first = pq.read_table(path)["trajectory_id"][0].as_py()

    assert find_trajectory([path, path], first)["query"] == example()["query"]
    with pytest.raises(InputError, match="begins 2 trajectory ids"):
        find_trajectory([path], "")
    with pytest.raises(InputError, match="no trajectory whose id starts with 'zz'"):
        find_trajectory([path], "zz")
    with pytest.raises(InputError, match="build them first"):
        find_trajectory([], "")
