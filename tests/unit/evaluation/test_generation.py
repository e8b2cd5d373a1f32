"""Batched generation says what one-at-a-time generation without any cache says."""

import numpy as np
import pytest

from tiny_model import make_model

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tracemill.evaluation.draw import choose_tokens  # noqa: E402
from tracemill.evaluation.generation import Generator  # noqa: E402
from tracemill.evaluation.policies import Sampling  # noqa: E402
from tracemill.evaluation.tokens import Prompt  # noqa: E402

END = 7
RNG = np.random.default_rng(3)
SYSTEM = tuple(int(t) for t in RNG.integers(10, 60, 40))


@pytest.fixture(scope="module")
def model():
    return make_model(64, spread=0.6)


def plain_greedy(model, ids, limit):
    ids, out = list(ids), []
    with torch.no_grad():
        while len(out) < limit:
            out.append(int(model(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
            ids.append(out[-1])
            if out[-1] == END:
                break
    return tuple(out)


def prompts(count, limit=24, temperature=0.0, top_p=1.0):
    rng = np.random.default_rng(11)
    tails = [tuple(int(t) for t in rng.integers(10, 60, int(n))) for n in rng.integers(1, 30, count)]
    sampling = Sampling(temperature=temperature, top_p=top_p, max_new_tokens=limit)
    return [Prompt(str(i), SYSTEM + tail, i, sampling) for i, tail in enumerate(tails)]


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("prefill_tokens", [1, 100, 16_384])
def test_a_batch_answers_as_each_prompt_alone(model, reuse, prefill_tokens):
    batch = prompts(7)
    generator = Generator(model, [END], prefill_tokens=prefill_tokens, reuse=reuse)
    assert [g.ids for g in generator.generate(batch)] == [plain_greedy(model, p.ids, 24) for p in batch]


def test_later_turns_over_the_cache_answer_as_without_it(model):
    generator = Generator(model, [END])
    batch = prompts(6)
    rng = np.random.default_rng(5)
    for turn in range(4):
        answers = generator.generate(batch)
        assert [g.ids for g in answers] == [plain_greedy(model, p.ids, 24) for p in batch], f"turn {turn}"
        grown = [
            Prompt(p.key, p.ids + g.ids + tuple(int(t) for t in rng.integers(10, 60, 9)), p.seed, p.sampling)
            for p, g in zip(batch, answers, strict=True)
        ]
        batch = [*grown[: 5 - turn], Prompt(f"new{turn}", (*SYSTEM, 12, 13 + turn), 1, grown[0].sampling)]


def test_a_history_that_was_written_differently_is_run_again_from_where_it_differs(model):
    generator = Generator(model, [END])
    batch = prompts(3)
    generator.generate(batch)
    changed = [Prompt(p.key, (*p.ids[:-1], 61, 62, 63), p.seed, p.sampling) for p in batch]
    assert [g.ids for g in generator.generate(changed)] == [plain_greedy(model, p.ids, 24) for p in changed]


def test_the_whole_prompt_in_the_cache_still_leaves_a_token_to_run(model):
    generator = Generator(model, [END])
    batch = prompts(3)
    first = generator.generate(batch)
    assert [g.ids for g in generator.generate(batch)] == [g.ids for g in first]


@pytest.mark.parametrize("enough", [1, 2])
@pytest.mark.parametrize("live", [1, 3, 5])
def test_prompts_that_join_a_batch_under_way_are_answered_as_each_alone(model, live, enough):
    rng = np.random.default_rng(7)
    waiting = [Prompt(p.key, p.ids, p.seed, Sampling(max_new_tokens=3 + 5 * (i % 4))) for i, p in enumerate(prompts(9))]
    generator, asked, answers, turns = Generator(model, [END]), {}, {}, {}
    while waiting or asked:
        fresh = [waiting.pop(0) for _ in range(min(live - len(asked), len(waiting)))]
        asked |= {p.key: p for p in fresh}
        assert len(asked) <= live
        for key, answer in generator.advance(fresh, enough).items():
            prompt = asked.pop(key)
            answers[prompt] = answer.ids
            turns[key] = turns.get(key, 0) + 1
            if turns[key] < 3:
                grown = prompt.ids + answer.ids + tuple(int(t) for t in rng.integers(10, 60, 9))
                waiting.insert(0, Prompt(key, grown, prompt.seed, prompt.sampling))
    assert generator.batch is None
    assert len(answers) == 27
    assert {p: ids for p, ids in answers.items() if plain_greedy(model, p.ids, p.sampling.max_new_tokens) != ids} == {}


def test_an_answer_joins_in_a_row_that_has_ended_without_a_copy_of_the_others(model):
    batch = prompts(4, limit=80)
    generator = Generator(model, [END])
    generator.advance(
        [Prompt(p.key, p.ids, p.seed, Sampling(max_new_tokens=n)) for p, n in zip(batch, (2, 4, 60, 60), strict=True)]
    )
    generator.advance([Prompt("a", batch[0].ids[:20], 0, Sampling(max_new_tokens=2))])
    segment = generator.batch.segment
    generator.advance([Prompt("b", batch[0].ids[:20], 0, Sampling(max_new_tokens=2))])
    assert generator.batch.segment is segment


def test_sampling_depends_on_the_seed_and_not_on_the_neighbours(model):
    batch = prompts(6, temperature=1.0, top_p=0.9)
    together = [g.ids for g in Generator(model, [END]).generate(batch)]
    alone = [Generator(model, [END]).generate([p])[0].ids for p in batch]
    assert together == alone
    other = [Prompt(p.key, p.ids, p.seed + 100, p.sampling) for p in batch]
    assert together != [g.ids for g in Generator(model, [END]).generate(other)]


def test_generation_leaves_training_mode_as_it_was(model):
    model.train()
    try:
        Generator(model, [END]).generate(prompts(1))
        assert model.training
    finally:
        model.eval()


def test_log_probabilities_are_those_of_the_model_at_temperature_one(model):
    prompt = prompts(1, limit=3)[0]
    answer = Generator(model, [END]).generate([prompt])[0]
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt.ids + answer.ids[:-1]])).logits[0, len(prompt.ids) - 1 :]
    expected = torch.log_softmax(logits, -1)[range(len(answer.ids)), list(answer.ids)]
    assert answer.logprobs == pytest.approx(expected.tolist(), abs=1e-4)


LOGITS = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]]))


@pytest.mark.parametrize(
    ("temperature", "top_p", "uniform", "token"),
    [
        (0.0, 1.0, 0.99, 0),
        (1.0, 1.0, 0.0, 0),
        (1.0, 1.0, 0.49, 0),
        (1.0, 1.0, 0.51, 1),
        (1.0, 1.0, 0.81, 2),
        (1.0, 1.0, 0.999, 3),
        (1.0, 0.6, 0.999, 1),
        (1.0, 0.5, 0.999, 0),
        (1.0, 0.01, 0.999, 0),
        (0.01, 1.0, 0.999, 0),
    ],
)
def test_the_nucleus_is_the_smallest_set_that_reaches_top_p(temperature, top_p, uniform, token):
    assert choose_tokens(LOGITS, [Sampling(temperature, top_p)], [uniform]).tolist() == [token]


def test_greedy_and_sampled_rows_share_a_batch():
    rows = LOGITS.repeat(2, 1)
    assert choose_tokens(rows, [Sampling(0.0), Sampling(1.0)], [0.999, 0.999]).tolist() == [0, 3]
