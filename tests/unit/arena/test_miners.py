import pytest

from tracemill.environment.recommendation import recommended_ids


def calls(envelope, name=None):
    return [
        call
        for step in envelope["dialogue"] or ()
        for call in step["completion"]["message"].get("tool_call", ())
        if name in (None, call["name"])
    ]


def thoughts(envelope):
    return " ".join(step["completion"]["message"].get("think", "") for step in envelope["dialogue"])


def tokens(envelope):
    return [
        request["response"]["usage"]["completion_tokens"]
        for step in envelope["dialogue"]
        for request in step["extra_info"]["proxy_calls"]
        if request["path"] == "/inference/chat/completions"
    ]


@pytest.mark.parametrize("kind", ["agentic", "careful", "reformulating", "careless"])
def test_agentic_miners_ask_the_model_before_every_step(of_kind, kind):
    for envelope in of_kind(kind):
        assert len(tokens(envelope)) == len(envelope["dialogue"]) == envelope["inference_total"]
        assert min(tokens(envelope)) >= 30


def test_searchers_ask_the_model_once_and_classifiers_for_a_label(of_kind):
    assert all(len(tokens(e)) == 1 < len(e["dialogue"]) for e in of_kind("searcher"))
    assert all(max(tokens(e)) < 30 for e in of_kind("classifying"))


def test_regex_agents_never_ask_a_model(of_kind):
    assert all(tokens(e) == [] and thoughts(e).strip() == "" for e in of_kind("regex"))


def test_unlogged_episodes_have_no_proxy_log(of_kind):
    assert all("proxy_calls" not in step["extra_info"] for e in of_kind("unlogged") for step in e["dialogue"])


def test_older_episodes_keep_their_results_in_obs(of_kind):
    for envelope in of_kind("unlogged"):
        for step in envelope["dialogue"]:
            message = step["completion"]["message"]
            assert [o["tool_call_id"] for o in message["obs"]] == [c["tool_call_id"] for c in message["tool_call"]]
            assert all("result" not in call for call in message["tool_call"])


def test_quiet_episodes_have_one_thought_and_no_log(of_kind):
    for envelope in of_kind("quiet"):
        assert [bool(step["completion"]["message"].get("think")) for step in envelope["dialogue"]].count(True) == 1
        assert all("proxy_calls" not in step["extra_info"] for step in envelope["dialogue"])


def test_batching_agents_make_several_searches_in_one_step(of_kind):
    for envelope in of_kind("batching"):
        assert len(envelope["dialogue"][0]["completion"]["message"]["tool_call"]) >= 3


def test_careful_agents_open_what_they_recommend(of_kind):
    for envelope in of_kind("careful"):
        viewed = ",".join(c["parameters"]["product_ids"] for c in calls(envelope, "view_product_information"))
        assert all(i in viewed for i in recommended_ids(envelope["dialogue"]))


def test_crashed_and_timed_out_episodes_have_their_status_and_an_error(of_kind):
    assert {e["status"] for e in of_kind("crashing")} == {"FAILED"}
    assert {e["status"] for e in of_kind("timing_out")} == {"TIMED_OUT"}
    assert {e["error"]["type"] for e in of_kind("timing_out")} == {"TimeoutError"}


def test_a_retried_call_has_the_same_id_and_another_result(of_kind):
    for envelope in of_kind("retrying"):
        first, second = calls(envelope)[:2]
        assert first["tool_call_id"] == second["tool_call_id"]
        assert first["result"] == "Error: timeout"
        assert isinstance(second["result"], list)


def test_repeating_agents_make_the_same_call_again(of_kind):
    assert all(len({c["tool_call_id"] for c in calls(e)}) < len(calls(e)) for e in of_kind("repeating"))


@pytest.mark.parametrize(("kind", "count"), [("recommending_twice", 2), ("never_recommending", 0), ("agentic", 1)])
def test_number_of_recommendations(of_kind, kind, count):
    assert {len(calls(e, "recommend_product")) for e in of_kind(kind)} == {count}


def test_think_then_stop_never_terminates(of_kind):
    assert all(calls(e, "terminate") == [] for e in of_kind("thinking_then_stopping"))


def test_production_reads_no_ids_from_unparsable_recommendations(of_kind):
    assert of_kind("unparsable")
    assert all(recommended_ids(e["dialogue"]) == [] for e in of_kind("unparsable"))


def test_a_lost_result_leaves_a_call_without_an_answer(of_kind):
    assert all("result" not in calls(e)[0] and "result" in calls(e)[1] for e in of_kind("losing_results"))


def test_rambling_agents_are_far_over_the_token_budget(of_kind):
    assert all(len(thoughts(e)) > 4 * 14_336 for e in of_kind("rambling"))


def test_injecting_agents_write_control_tokens_and_instructions(of_kind):
    for envelope in of_kind("injecting"):
        assert any(mark in thoughts(envelope) for mark in ("<|im_end|>", "</think>", "<|endoftext|>"))
        assert any(mark in thoughts(envelope) for mark in ("Ignore all previous", "SYSTEM:"))


def test_copycats_submit_what_the_first_agentic_miner_submits(problems, catalog):
    import random

    from tracemill.arena.miners import MINERS
    from tracemill.arena.recorder import Recorder

    def messages(kind, hotkey):
        recorder = Recorder(catalog, problems[0], random.Random(1), 0, True)
        MINERS[kind].play(recorder, hotkey, random.Random(1))
        return [step["completion"]["message"] for step in recorder.steps]

    assert messages("copycat", 0) == messages("agentic", 0)
    reworded = messages("paraphrasing", 0)
    assert [m["tool_call"] for m in reworded] == [m["tool_call"] for m in messages("agentic", 0)]
    assert [m["think"] for m in reworded] != [m["think"] for m in messages("agentic", 0)]


def test_steps_without_a_usable_timestamp(of_kind):
    stamps = [step["extra_info"].get("timestamp") for e in of_kind("forgetting_time") for step in e["dialogue"]]
    assert stamps
    assert not any(isinstance(stamp, int) for stamp in stamps)
