from collections import Counter

from tracemill.arena.expert import Expert, Style
from tracemill.arena.problems import bucket_of
from tracemill.environment.episode import Call, Episode, Turn
from tracemill.environment.problem import Problem
from tracemill.environment.recommendation import recommended_ids
from tracemill.environment.scorer import is_success, score_dialogue


def played(problem, catalog, expert):
    episode = Episode(catalog, problem)
    while not episode.done:
        episode.step(expert.act(problem, episode.results))
    return episode


def succeeded(episode, catalog):
    return is_success(score_dialogue(episode.problem, episode.dialogue(), catalog), episode.problem.category)


def test_the_expert_solves_over_95_percent_of_every_bucket_in_the_real_environment(problems, catalog):
    solved, asked = Counter(), Counter()
    for problem in problems[::2]:
        asked[bucket_of(problem.problem_id)] += 1
        solved[bucket_of(problem.problem_id)] += succeeded(played(problem, catalog, Expert()), catalog)
    assert {bucket: solved[bucket] / count for bucket, count in asked.items() if solved[bucket] <= 0.95 * count} == {}


def test_the_expert_recommends_only_what_its_observations_have_shown(problems, catalog):
    for problem in problems[::25]:
        episode = played(problem, catalog, Expert(Style(verify=0.5, broad=0.5), seed=3))
        shown = "\n".join(m["content"] for m in episode.messages if m["role"] == "tool")
        assert recommended_ids(episode.dialogue())
        assert all(i in shown for i in recommended_ids(episode.dialogue()))


def test_a_product_episode_is_search_recommend_terminate(problems, catalog):
    problem = next(p for p in problems if p.problem_id.startswith("product-price"))
    calls = [turn_call["name"] for step in played(problem, catalog, Expert()).dialogue()
             for turn_call in step["completion"]["message"]["tool_call"]]  # fmt: skip
    assert calls == ["find_product", "recommend_product", "terminate"]


def test_the_second_item_of_a_shop_problem_is_searched_in_the_shop_of_the_first(problems, catalog):
    problem = next(p for p in problems if p.category == "shop")
    episode = played(problem, catalog, Expert())
    second = episode.dialogue()[1]["completion"]["message"]["tool_call"][0]
    first_shop = next(r["shop_id"] for r in episode.results[0][0] if r["product_id"] == problem.gold_ids[0])
    assert second["parameters"]["shop_id"] == first_shop


def test_candidates_that_only_options_tell_apart_are_opened_before_the_choice(problems, catalog):
    problem = next(p for p in problems if "-combination-" in p.problem_id)
    names = [step["completion"]["message"]["tool_call"][0]["name"] for step in
             played(problem, catalog, Expert()).dialogue()]  # fmt: skip
    assert names == ["find_product", "view_product_information", "recommend_product", "terminate"]


def test_replaying_the_results_gives_the_same_turns(problems, catalog):
    problem = next(p for p in problems if p.category == "voucher")
    expert = Expert(Style(verify=0.5), seed=7)
    episode = played(problem, catalog, expert)
    again = [expert.act(problem, episode.results[:n]) for n in range(len(episode.results))]
    thoughts = [turn.think for turn in again]
    assert thoughts == [step["completion"]["message"]["think"] for step in episode.dialogue()]


def test_a_style_that_slips_fails_often(problems, catalog):
    chosen = [p for p in problems if p.category == "product"][::20]
    careless = Expert(Style("careless", slip=1.0))
    assert sum(succeeded(played(p, catalog, careless), catalog) for p in chosen) <= 0.2 * len(chosen)


def test_errors_and_empty_results_end_in_failure_without_a_recommendation():
    problem = Problem("p", "product", "a slim rug", {"product_id": "1", "title": ["slim rug"]})
    turn = Expert(Style(guess_titles=False)).act(problem, [[{"error": "no"}]])
    assert turn.calls == [Call("terminate", {"status": "failure"})]


def test_after_the_script_the_expert_has_nothing_to_say():
    problem = Problem("p", "product", "a slim rug", {"product_id": "1", "title": ["slim rug"]})
    assert Expert(Style(guess_titles=False)).act(problem, [[[]], ["done"], ["more"]]) == Turn()


def test_the_expert_plays_all_real_problems_and_solves_most_of_them(shared, tmp_path):
    from tracemill.environment.index import build_index, open_index
    from tracemill.environment.problem import read_problems
    from tracemill.environment.products import read_products

    folder = shared / "data" / "shoppingbench"
    build_index(read_products(folder / "catalog.jsonl.gz"), tmp_path / "index")
    catalog = open_index(tmp_path / "index")
    real = list(read_problems(folder / "problems.jsonl"))[::5]
    solved = sum(succeeded(played(p, catalog, Expert()), catalog) for p in real)
    assert solved > 0.95 * len(real)
