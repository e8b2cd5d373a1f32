"""On a GPU, batches over the cache answer as the same model does in one pass without it."""

import pytest

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.torch,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

from tiny_model import make_model  # noqa: E402
from tracemill.evaluation.generation import Generator  # noqa: E402
from tracemill.evaluation.policies import Sampling  # noqa: E402
from tracemill.evaluation.tokens import Prompt  # noqa: E402


def test_two_turns_of_a_batch_are_what_the_model_says_without_a_cache():
    model = make_model(64, spread=0.6).to("cuda")
    generator = Generator(model, [7])
    batch = [Prompt(str(i), tuple(range(10, 40 + i)), i, Sampling(max_new_tokens=8)) for i in range(5)]
    for _ in range(2):
        answers = generator.generate(batch)
        for prompt, answer in zip(batch, answers, strict=True):
            ids = torch.tensor([prompt.ids + answer.ids[:-1]], device="cuda")
            with torch.no_grad():
                logits = model(input_ids=ids).logits[0, len(prompt.ids) - 1 :]
            assert answer.ids == tuple(logits.argmax(-1).tolist())
        batch = [
            Prompt(p.key, (*p.ids, *a.ids, 11, 12, 13), p.seed, p.sampling) for p, a in zip(batch, answers, strict=True)
        ]
