import json
from collections import Counter

import pytest

from tracemill.arena.damage import DAMAGES
from tracemill.arena.miners import MINERS
from tracemill.arena.params import MinerParams
from tracemill.arena.simulate import simulate, write_lines
from tracemill.environment.problem import Problem
from tracemill.environment.scorer import SCORER_VERSION
from tracemill.errors import InputError, ParamsError

SANDBOX = {
    "problem_id",
    "status",
    "execution_time",
    "inference_failure_count",
    "inference_total",
    "error",
    "dialogue",
}
EXTRA = {
    "miner_hotkey",
    "agent_version_id",
    "validator_hotkey",
    "score",
    "reasoning",
    "scoring_version",
}


def test_an_envelope_has_the_keys_of_the_sandbox_and_only_known_extra_ones(envelopes):
    for envelope in envelopes:
        assert set(envelope) >= SANDBOX
        assert set(envelope) <= SANDBOX | EXTRA
        assert envelope["status"] in ("SUCCESS", "FAILED", "TIMED_OUT")
        assert (envelope["error"] is None) == (envelope["status"] == "SUCCESS")


def test_a_step_has_completion_and_extra_info_as_the_sandbox_writes_them(of_kind):
    envelope = of_kind("agentic")[0]
    step = envelope["dialogue"][0]
    assert set(step) == {"completion", "extra_info"}
    assert set(step["completion"]) == {"reasoning_content", "content", "message"}
    assert set(step["completion"]["message"]) == {"think", "tool_call"}
    assert set(step["completion"]["message"]["tool_call"][0]) == {"name", "parameters", "tool_call_id", "result"}
    extra = {"step", "query", "timestamp", "problem_id", "proxy_calls", "execution_time"}
    assert set(step["extra_info"]) == extra
    request = {"method", "path", "status_code", "duration_ms", "timestamp", "params"}
    inference, search = step["extra_info"]["proxy_calls"]
    assert set(inference) == request | {"json_data", "response"}
    assert inference["response"]["usage"]["completion_tokens"] >= 30
    assert set(search) == request | {"result_product_ids"}
    assert (inference["path"], search["path"]) == ("/inference/chat/completions", "/search/find_product")


def test_judged_episodes_carry_score_judgement_and_version(of_kind):
    judged = next(e for e in of_kind("agentic") if "reasoning" in e)
    assert judged["scoring_version"] == SCORER_VERSION
    assert judged["score"]["success"] == 1.0
    assert set(judged["reasoning"]) == {"score", "explanation", "model"}


def test_the_same_seed_gives_the_same_bytes_and_a_longer_snapshot_begins_like_a_shorter_one(
    problems, catalog, miner_params
):
    def lines(seed, episodes):
        played = simulate(problems, catalog, miner_params, seed, episodes)
        return [json.dumps(envelope) for envelope in played]

    assert lines(5, 120) == lines(5, 120)
    assert lines(5, 150)[:120] == lines(5, 120)
    assert lines(6, 120) != lines(5, 120)


def test_every_kind_with_a_weight_takes_part_and_every_registered_kind_has_one(envelopes, miner_params):
    assert {e["agent_version_id"].split("/")[0] for e in envelopes} == set(miner_params.kinds) == set(MINERS)


def test_agentic_episodes_are_most_of_what_succeeds(envelopes):
    good = Counter(e["agent_version_id"].split("/")[0] for e in envelopes if e.get("score", {}).get("success") == 1.0)
    agentic = sum(good[kind] for kind in ("agentic", "careful", "reformulating", "careless"))
    assert agentic > 0.6 * sum(good.values())


def test_timestamps_rise_within_an_episode(of_kind):
    for envelope in of_kind("agentic")[:20]:
        stamps = [step["extra_info"]["timestamp"] for step in envelope["dialogue"]]
        assert stamps == sorted(set(stamps))


def test_broken_lines_stand_beside_the_whole_ones_and_every_kind_of_damage_occurs(envelopes):
    params = MinerParams(kinds={"agentic": 1.0}, damaged=len(DAMAGES) / len(envelopes))
    lines = list(write_lines(iter(envelopes), params, len(envelopes)))
    assert len(lines) == len(envelopes) + len(DAMAGES)
    whole = {json.dumps(envelope, ensure_ascii=False).encode() for envelope in envelopes}
    assert len([line for line in lines if line not in whole]) == len(DAMAGES)


def test_no_line_holds_a_line_break(envelopes, miner_params):
    assert not any(b"\n" in line for line in write_lines(iter(envelopes), miner_params, len(envelopes)))


def test_an_unknown_kind_of_miner_is_named_with_the_known_ones(problems, catalog):
    with pytest.raises(ParamsError, match=r"no miner 'agnetic'; there are agentic, batching"):
        next(simulate(problems, catalog, MinerParams(kinds={"agnetic": 1.0}), 1, 1))


def test_nothing_to_play_is_refused(catalog, miner_params):
    with pytest.raises(InputError, match="no problem has a reward"):
        next(simulate([], catalog, miner_params, 1, 1))
    with pytest.raises(InputError, match="no problem has a reward"):
        next(simulate([Problem("p", "shop", "two lamps", [])], catalog, miner_params, 1, 1))


def test_problems_without_a_reward_are_left_out(problems, catalog, miner_params):
    bare = [Problem(f"bare-{number}", "product", "a lamp") for number in range(50)]
    played = [*simulate([*bare, *problems[:3]], catalog, miner_params, 1, 150)]
    assert {envelope["problem_id"] for envelope in played} == {problem.problem_id for problem in problems[:3]}


def test_a_voucher_that_production_cannot_score_leaves_the_score_out(products, catalog, miner_params):
    wanted = [{"product_id": products[0]["product_id"]}]
    terms = {"voucher_type": "platform", "threshold": 0, "discount_type": "two for one", "budget": 0}
    problem = Problem("p", "voucher", products[0]["title"], wanted, terms)
    played = list(simulate([problem], catalog, miner_params, 1, 150))
    recommended = [e for e in played if e["status"] == "SUCCESS" and "recommend_product" in json.dumps(e["dialogue"])]
    assert recommended
    assert any("score" not in envelope and "scoring_version" in envelope for envelope in recommended)
