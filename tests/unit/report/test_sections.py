"""The page's tables say n and interval beside each rate, and keep published numbers apart."""

import json

import pytest

from tracemill.evaluation.compare import compare_checkpoints
from tracemill.evaluation.published import published_rows
from tracemill.report.build import ends_of, read_recipe
from tracemill.report.corpus_sections import drift_section, funnel_section
from tracemill.report.result_sections import headline, results_section
from tracemill.report.suite_tables import lm_table, paired_table, pass_table, suites_table
from tracemill.report.training_section import training_section


def rate(hits, n):
    return {"n": n, "hits": hits, "value": hits / n, "low": 0.1, "high": 0.9, "step": 1 / n}


def summary(hits, n):
    block = {"success": rate(hits, n), "rule": 0.5}
    price = {"n": 2, "value": 0.25, "low": 0.0, "high": 0.5}
    return {
        "settings": {"scorer": {"title_model": None}},
        "suites": {
            "eval": {
                **block,
                "whole": n,
                "limited": False,
                "contaminated": False,
                "axes": {"price": price, "service": {"n": 0, "value": None, "low": None, "high": None}},
                "conditions": {"shop": rate(1, 2), "budget": rate(0, 1)},
                "length": 0.5,
                "failed_axes": {"price": n - hits} if n > hits else {},
                "tool_errors": {},
                "format": 1.0,
                "hallucinated_ids": 0.0,
                "steps": 3.5,
                "completion_tokens": 80.0,
                "outcomes": {"terminated": n},
                "by_category": {"product": block},
                "by_bucket": {"product/single": block},
            }
        },
    }


KNOWN = {"base": summary(0, 4), "sft": summary(3, 4)}


def tables(section):
    return {block.caption: block for block in section.blocks if hasattr(block, "rows")}


def test_the_headline_names_base_and_every_end_of_the_recipe_with_n_and_interval():
    base, sft = (KNOWN[name]["suites"]["eval"] for name in ("base", "sft"))
    known = {"expert": sft, "base": base, "sft": sft, "kto": base, "dr_grpo": sft}

    assert headline(known, ["kto", "dr_grpo"]) == (
        "base 0.0% (n = 4, 95% interval 10.0 to 90.0); kto 0.0% (n = 4, 95% interval 10.0 to 90.0); "
        "dr_grpo 75.0% (n = 4, 95% interval 10.0 to 90.0): strict success on the eval pool, base model first, then "
        "every end of the recipe. One problem is 25.00 points."
    )
    assert headline({}, ["kto"]) == "Nothing was evaluated."


def test_the_ends_of_the_recipe_are_what_nothing_else_was_trained_from(tmp_path):
    chains = {"base": [], "sft": ["base"], "kto": ["base", "sft"], "dr_grpo": ["base", "sft"]}
    for name, before in chains.items():
        (tmp_path / name).mkdir()
        lineage = [{"stage": stage} for stage in [*before, name]]
        (tmp_path / name / "lineage.json").write_text(json.dumps(lineage))

    models = [tmp_path / name for name in chains]
    assert ends_of(models) == ["kto", "dr_grpo"]
    assert read_recipe(models) == [
        {"stage": "base", "parent": None},
        {"stage": "sft", "parent": "base"},
        {"stage": "kto", "parent": "sft"},
        {"stage": "dr_grpo", "parent": "sft"},
    ]


@pytest.fixture(scope="module")
def found():
    """The tables of the checkpoints, by caption."""
    return tables(results_section(KNOWN, [], published_rows(), {}))


def test_published_rows_are_marked_and_come_last(found):
    (checkpoints,) = [table for caption, table in found.items() if caption.startswith("Eval pool")]

    assert checkpoints.rows[1][:5] == ["sft", "75.0", "10.0 to 90.0", "4", "25.00"]
    assert checkpoints.published == [2, 3, 4, 5, 6, 7, 8]
    assert checkpoints.rows[2][:5] == ["published: base (Qwen3-4B)", "18.0", "11.5 to 28.9", "75", "1.33"]


def test_buckets_stand_side_by_side_for_all_checkpoints(found):
    buckets = found["Success by kind of problem, percent with 95% interval"]

    assert buckets.columns == ["bucket", "n", "one problem, points", "base", "sft"]
    assert buckets.rows == [["product/single", "4", "25.00", "0.0\n10.0 to 90.0", "75.0\n10.0 to 90.0"]]


def test_axes_stand_with_the_number_of_problems_that_ask_for_them(found):
    (caption,) = [caption for caption in found if caption.startswith("Mean score of each axis")]

    assert found[caption].rows == [
        ["price", "2", "50.00", "25.0\n0.0 to 50.0", "25.0\n0.0 to 50.0"],
        ["all from one shop (shop)", "2", "50.00", "50.0\n10.0 to 90.0", "50.0\n10.0 to 90.0"],
        ["within the budget (voucher)", "1", "100.00", "0.0\n10.0 to 90.0", "0.0\n10.0 to 90.0"],
    ]


def test_why_episodes_failed_is_counted_side_by_side(found):
    assert found["Axes that failed"].rows == [["price", "4", "1"]]
    assert "Calls that no tool took" not in found


def test_a_suite_of_which_a_part_was_played_says_so():
    suites = KNOWN["sft"]["suites"]
    limited = {"sft": {**KNOWN["sft"], "suites": {"eval": {**suites["eval"], "whole": 196, "limited": True}}}}

    assert results_section(limited, [], [], {}).blocks[0].text == (
        "Limited: 4 of the 196 problems of the suite eval were played."
    )


def test_a_pair_stands_with_its_interval_step_and_adjusted_p_value():
    test = compare_checkpoints([], []) | {"a": "base", "b": "sft", "p_holm": 1.0}
    full = test | {"n": 4, "difference": 0.5, "low": 0.0, "high": 1.0, "step": 0.25, "only_b": 2, "only_a": 0}

    assert paired_table([full | {"p_value": 0.5}, test]).rows == [
        ["sft against base", "+50.0", "0.0 to 100.0", "4", "25.00", "2", "0", "0.500", "1.000"],
        ["sft against base", "", "", "0", "", "0", "0", "", "1.000"],
    ]


def test_a_contaminated_suite_is_marked_and_stands_beside_its_clean_part():
    full = {"success": rate(3, 4), "contaminated": True}
    clean = {"success": rate(1, 2), "contaminated": False}
    nothing = {"success": {"n": 0}, "contaminated": False}
    suites = {"eval": full, "protected_clean": clean, "protected_full": full, "other": nothing}
    (found,) = suites_table({"sft": {"suites": suites}}, "eval")

    assert found.rows == [
        ["sft", "protected_clean", "50.0", "10.0 to 90.0", "2", "50.00", ""],
        ["sft", "protected_full", "75.0", "10.0 to 90.0", "4", "25.00", "contaminated: training clusters touch it"],
    ]


def test_limited_results_of_lm_eval_say_so():
    block = {
        "version": 1.0,
        "documents": {"original": 696, "effective": 4},
        "limited": True,
        "scores": {"exact,none": 0.5, "success,k8": 1.0},
        "intervals": {"exact,none": {"low": 0.1, "high": 0.9}},
    }
    (found,) = lm_table({"sft": {"tasks": {"tracemill_next_action": block}}})

    assert found.columns == ["task", "score", "version", "documents", "sft"]
    assert found.rows == [
        ["tracemill_next_action", "exact", "1", "4\nlimited: of 696", "0.500\n0.100 to 0.900"],
        ["tracemill_next_action", "success,k8", "1", "4\nlimited: of 696", "1.000"],
    ]


def test_pass_at_k_stands_side_by_side_with_problems_and_step():
    estimate = {"k": 1, "value": 0.5, "low": 0.25, "high": 0.75}
    full = {"problems": 4, "mixed_problems": 2, "estimates": [estimate, estimate | {"k": 2, "value": 0.6}]}
    found = pass_table({"sft": full, "kto": full | {"estimates": [estimate]}})

    assert found.columns == ["estimate", "n", "one problem, points", "sft", "kto"]
    assert found.rows == [
        ["pass@1", "4", "25.00", "50.0\n25.0 to 75.0", "50.0\n25.0 to 75.0"],
        ["pass@2", "4", "25.00", "60.0\n25.0 to 75.0", ""],
        ["solved in some draws, not in all", "4", "", "2", "2"],
    ]


def test_the_funnel_counts_each_drop_by_step_and_reason():
    traces = {"a": {"in": 10, "kept": 8, "rejected": {"bad_json": 2}, "snapshot_digest": "f" * 64}}
    filtered = {"a": {"kept": 7, "dropped": {"unjudged": 1}, "agents": {"agentic/1 in": 8, "agentic/1 kept": 7}}}
    roles = {"exact_duplicate": 1, "near_duplicate": 0, "sft": 5, "undesirable": 1}
    section = funnel_section(traces, filtered, {"in": 7, "roles": roles, "sft_by_category": {"product": 5}})

    assert section.lead == "10 raw lines became 5 SFT rows."
    assert tables(section)["Dropped rows by step and reason"].rows == [
        ["normalise", "bad_json", "2"],
        ["gates", "unjudged", "1"],
        ["assemble", "exact_duplicate", "1"],
        ["assemble", "near_duplicate", "0"],
    ]


def test_drift_shows_each_snapshot_in_order():
    record = {
        "snapshot": "a",
        "lines": 10,
        "normalised": 9,
        "kept": 8,
        "shares": {"kept": 0.8, "axis_a": 0.5, "success": None, "judge_mean": 0.91},
        "problems": 5,
        "new_problems": 4,
        "links_to_older": 1,
        "judge_coefficients": {"1.000": 7},
        "dropped": {"unjudged": 1},
        "categories": {"product": 8},
    }
    later = {**record, "snapshot": "b", "dropped": {"unjudged": 2, "over_budget": 1}, "categories": {"shop": 3}}
    told = tables(drift_section([record, later]))

    first = ["a", "10", "9", "8", "80.0", "50.0", "", "0.91", "5", "4", "1"]
    caption = "on axis A the model itself made the calls, on axis B code around it did"
    assert told[f"Snapshots in the order of their names; {caption}"].rows[0] == first
    assert told["Rows dropped, by reason"].rows == [["unjudged", "1", "2"], ["over_budget", "", "1"]]
    assert told["Rows kept, by category"].rows == [["product", "8", ""], ["shop", "", "3"]]


def test_curves_become_figures_and_gates_one_table():
    curve = [{"step": "1", "loss": "2.0"}, {"step": "2", "loss": "1.5"}]
    masks = {"sft": {"rows": 3, "dropped": {"over_budget": 1}}, "kto": {"rows": 4, "dropped": {}}}
    section = training_section([], {"sft": curve}, masks, {})

    assert 'aria-label="sft: loss"' in section.blocks[0].svg
    assert section.blocks[1].columns == ["what", "sft", "kto"]
    assert section.blocks[1].rows == [["rows", "3", "4"], ["dropped: over_budget", "1", ""]]


def test_the_recipe_sets_the_settings_side_by_side_and_rollouts_their_yield():
    base = {"stage": "base", "parent": None, "kind": "tiny", "params": {"seed": 7}}
    sft = {"stage": "sft", "parent": "base", "kind": "sft", "params": {"batch": 8, "lora": {"rank": 0}}}
    params = {"grpo": {"scale_rewards": "none"}, "train": {"batch": 4}}
    grpo = {"stage": "dr_grpo", "parent": "sft", "kind": "dr_grpo", "params": params}
    counts = {"episodes": 8, "successes": 3, "problems": 2, "solved": 1, "mixed": 1}
    section = training_section([base, sft, grpo], {}, {}, {"rejection": {"by_category": {"all": counts}}})

    first, recipe, rollouts = section.blocks
    assert first.rows == [["seed", "7"]]
    assert recipe.columns == ["setting", "sft", "dr_grpo"]
    assert recipe.rows == [
        ["parent", "base", "sft"],
        ["trainer", "sft", "dr_grpo"],
        ["batch", "8", "4"],
        ["lora.rank", "0", ""],
        ["grpo.scale_rewards", "", "none"],
    ]
    assert rollouts.rows == [["rejection", "all", "8", "3", "2", "1", "1"]]
