"""The arena against arbitrary rewards, results and texts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tracemill.arena.damage import DAMAGES
from tracemill.arena.expert import Expert, Style
from tracemill.arena.judge import SCORES, judge
from tracemill.arena.plan import plan, spoken_words
from tracemill.arena.wording import disguise, folded
from tracemill.environment.problem import Problem

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 999) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
REWARDS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(("product_id", "title", "sku_options", "attributes", "price", "service"), JSON),
)
ROWS = st.fixed_dictionaries({"product_id": JSON}, optional={"title": JSON, "shop_id": JSON})
RESULTS = JSON | st.lists(ROWS | JSON, max_size=4)
WORDS = st.lists(st.text("abcdefg", min_size=1, max_size=3), max_size=20)


@given(st.text(max_size=40), REWARDS)
def test_any_reward_gives_a_plan(query, reward):
    (want,) = plan(Problem("p", "product", query, reward))
    assert all(isinstance(value, str) for value in want.filters.values())
    assert want.queries


@settings(deadline=None)
@given(st.sampled_from(["product", "shop"]), st.lists(REWARDS, min_size=1, max_size=2), st.lists(RESULTS, max_size=12))
def test_the_expert_meets_any_result_and_ends(category, rewards, results):
    problem = Problem("p", category, "find a thing", rewards[0] if category == "product" else rewards)
    expert = Expert(Style(verify=0.5, broad=0.5, slip=0.5))
    answers = [[result] for result in results] + [[]] * 12
    for played in range(len(answers) + 1):
        turn = expert.act(problem, answers[:played])
        if not turn.calls:
            break
    assert turn.calls == []


@given(WORDS, WORDS, WORDS)
def test_spoken_words_come_from_the_query_and_name_the_product(words, title, options):
    spoken = spoken_words(words, title, options)
    assert set(spoken) <= set(words) & {*title, *options}
    assert len(spoken) == len(set(spoken))
    assert bool(spoken) == bool(set(words) & {*title, *options})


@given(st.lists(st.text(max_size=30), max_size=6), st.integers(0, 6), st.text(max_size=60))
def test_a_judgement_is_one_of_five_scores_and_depends_on_its_input_alone(thoughts, acting, query):
    verdict = judge(thoughts, acting, query)
    assert verdict.score in SCORES
    assert verdict == judge(thoughts, acting, query)


@given(st.lists(st.text("abcdefghij", min_size=1, max_size=6), min_size=6, max_size=20), st.randoms())
def test_a_disguise_changes_the_bytes_and_not_the_folded_text(words, rng):
    query = " ".join(words)
    assert folded(disguise(query, rng)) == folded(query)
    assert disguise(query, rng) != query


@given(st.sampled_from(sorted(DAMAGES)), st.text(max_size=20))
def test_a_damaged_line_is_one_line(kind, thought):
    call = {"name": "terminate", "parameters": {}, "result": "ok"}
    step = {
        "completion": {"message": {"think": thought, "tool_call": [call]}},
        "extra_info": {"query": "q", "problem_id": "p"},
    }
    envelope = {"problem_id": "p", "status": "SUCCESS", "dialogue": [step]}
    assert b"\n" not in DAMAGES[kind](envelope)
    assert envelope["dialogue"][0]["completion"]["message"]["think"] == thought
