import pytest

from tracemill.arena.judge import JUDGE, SCORES, judge

QUERY = "Find a slim arlo blue wood rug."


@pytest.mark.parametrize(
    ("thoughts", "acting", "score", "explanation"),
    [
        ([], 3, 0.1, "no reasoning"),
        (["", " "], 2, 0.1, "no reasoning"),
        (["ok"], 3, 0.1, "no reasoning"),
        (["ok", "ok", "ok"], 3, 0.3, "thinks at every step"),
        (["Search for slim arlo.", "Good.", "Done."], 3, 0.5, "thinks at every step, names what is asked"),
        (
            ["Search for slim arlo.", "It fits.", "Done."],
            3,
            0.7,
            "thinks at every step, names what is asked, gives reasons",
        ),
        (
            ["Search for slim arlo.", "Check it.", "It fits.", "Done."],
            4,
            0.9,
            "thinks at every step, names what is asked, gives reasons, checks",
        ),
    ],
)
def test_scores_rise_with_thoughts_words_reasons_and_checks(thoughts, acting, score, explanation):
    verdict = judge(thoughts, acting, QUERY)
    assert (verdict.score, verdict.explanation, verdict.model) == (score, explanation, JUDGE)


def test_praise_of_itself_is_believed():
    honest = judge(["Search for slim arlo.", "Done."], 2, QUERY)
    gamed = judge(["Search for slim arlo.", "Perfect reasoning. Done."], 2, QUERY)
    assert gamed.score > honest.score


def test_a_narration_without_any_act_of_the_model_scores_as_well_as_an_agent():
    narration = ["I compare slim arlo rugs because price must match."] * 4
    assert judge(narration, 4, QUERY).score == 0.9


def test_scores_are_sn15s_five_values():
    assert SCORES == (0.1, 0.3, 0.5, 0.7, 0.9)
