import pytest

from tracemill.training.match import calls_of, match_share


def turn(name, **arguments):
    return {"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


def shown(text):
    return {"role": "tool", "content": text}


TEACHER = calls_of(
    [
        turn("find_product", q="red mug", price="10-20"),
        shown("111 | red mug"),
        turn("recommend_product", product_ids="111"),
        turn("terminate", status="success"),
    ]
)


def share(*messages):
    return match_share(calls_of(messages), TEACHER)


def test_the_teachers_own_episode_matches_whole():
    assert match_share(TEACHER, TEACHER) == 1.0


def test_a_wrong_argument_costs_half_of_its_share_of_the_call():
    found = share(
        turn("find_product", q="red mug", price="10-99"),
        shown("111 | red mug"),
        turn("recommend_product", product_ids="111"),
        turn("terminate", status="success"),
    )
    assert found == pytest.approx((0.75 + 1 + 1) / 3)


def test_an_id_that_was_never_shown_earns_nothing():
    found = share(
        turn("find_product", q="red mug", price="10-20"),
        shown("222 | red mug"),
        turn("recommend_product", product_ids="111"),
        turn("terminate", status="success"),
    )
    assert found == pytest.approx((1 + 0.5 + 1) / 3)


def test_calls_out_of_order_earn_nothing_before_their_state():
    assert share(turn("terminate", status="success")) == 0.0


@pytest.mark.parametrize("nothing", ["None", "none", "null", "", None])
def test_an_argument_that_the_teacher_did_not_give_earns_nothing_whatever_it_says(nothing):
    extra = {"sort": nothing, "shop_id": nothing, "service": nothing}
    padded = share(turn("find_product", q="mug", **extra))
    assert padded == share(turn("find_product", q="mug")) == pytest.approx(0.5 / 3)


def test_repeated_calls_dilute_the_share():
    found = share(*[turn("find_product", q="red mug", price="10-20")] * 6)
    assert found == pytest.approx(1 / 6)


@pytest.mark.parametrize("arguments", ["no json", "[1]", '"text"'])
def test_arguments_that_are_no_object_count_as_none(arguments):
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "terminate", "arguments": arguments}}]}
    assert calls_of([message])[0][1] == {}


def test_a_teacher_without_calls_gives_no_reward():
    assert match_share(TEACHER, []) == 0.0
