"""Single steps: which documents there are and what an answer is worth."""

import hashlib
from importlib.resources import files

import pytest
from test_metrics import record

from tracemill.environment.episode import Call
from tracemill.evaluation.next_action import argument_match, documents, score_answer

SEARCH = Call("find_product", {"q": "red shoe", "price": "0-10"})


def call(arguments, name="find_product"):
    return f'<think>\nhm\n</think>\n\n<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (call('{"price": "0-10", "q": "red shoe"}'), (1, 1, 1, 1)),
        (call('{"q": "red shoe"}'), (1, 1, 0.5, 0)),
        (call('{"q": "red shoe", "price": "0-10", "page": 2}'), (1, 1, 2 / 3, 0)),
        (call('{"q": "blue shoe"}'), (1, 1, 0, 0)),
        (call('{"q": "red shoe", "price": "0-10"}', "terminate"), (1, 0, 0, 0)),
        ("I am done.", (0, 0, 0, 0)),
        ('<tool_call>{"name": "find_product"', (0, 0, 0, 0)),
    ],
)
def test_names_arguments_and_all_of_it_are_scored_apart(answer, expected):
    scores = score_answer([SEARCH], answer)
    assert tuple(scores[k] for k in ("well_formed", "tool_name", "arguments", "exact")) == pytest.approx(expected)


def test_no_arguments_on_both_sides_is_a_match():
    assert argument_match({}, {}) == 1.0
    assert argument_match({"a": None}, {}) == 0.0


def test_documents_are_the_turns_of_solved_greedy_episodes():
    def assistant(name, arguments):
        return {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": name, "arguments": arguments}}],
        }

    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        assistant("find_product", {"q": "a"}),
        {"role": "tool", "content": "p1"},
        assistant("recommend_product", {"product_ids": "p1"}),
        {"role": "tool", "content": "ok"},
        {"role": "assistant", "content": "bye"},
    ]
    episodes = [
        record("a", True, messages=messages),
        record("b", False, messages=messages),
        record("c", True, messages=messages, suites=("protected_full",)),
        record("d", True, messages=messages, temperature=0.9),
    ]
    found = list(documents(episodes))
    assert [(d.problem_id, d.turn, len(d.messages), d.wanted[0].name) for d in found] == [
        ("a", 0, 2, "find_product"),
        ("a", 1, 4, "recommend_product"),
    ]


@pytest.mark.parametrize(
    ("task", "version", "content"),
    [
        ("tracemill_next_action", "1.1", "1f6429503eb5"),
        ("tracemill_episode", "1.0", "886c433838b4"),
        ("tracemill_episode_pass", "1.0", "9361d6d5b999"),
    ],
)
def test_a_task_that_changes_needs_a_higher_version(task, version, content):
    text = (files("tracemill.evaluation") / "lm_eval_tasks" / f"{task}.yaml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines[-1] == f"  version: {version}"
    assert hashlib.sha256("\n".join(lines[:-1]).encode()).hexdigest()[:12] == content, "raise the version as well"
