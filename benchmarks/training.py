"""SFT against a plain TRL trainer on the same rows, and many live episodes against one at a time.

    python benchmarks/training.py --model data/models/base --rows data/training/sft/rows.parquet --steps 30
    python benchmarks/training.py --rollouts --model data/models/sft --index data/environment/index \
        --problems data/environment/problems.jsonl --episodes 128

All is timed in CPU seconds of the process that works, so that a busy machine does not decide. SFT: tokens that are not
padding per second; `plain` shuffles rows and pads each batch to its longest row, `grouped` is what the stage does; both
see the same number of steps and their losses are printed. Rollouts: greedy episodes per second with `--parallel` live
ones, shared by `--processes` processes that have a core each (their rates add up), against one at a time in one
process, with transformers' `generate` and with our own generator; one at a time plays a quarter of the episodes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any


def train_once(model: Path, rows: Path, steps: int, batch: int, grouped: bool) -> dict[str, float]:
    from datasets import Dataset
    from transformers import set_seed
    from trl import SFTConfig, SFTTrainer

    from tracemill.training.checkpoint import load_model, load_tokenizer
    from tracemill.training.params import OptimiserParams
    from tracemill.training.sft import batch_order, trainer_arguments

    params = OptimiserParams(max_steps=steps, batch=batch, device_batch=batch, save_steps=10**6)
    set_seed(0)
    with tempfile.TemporaryDirectory() as work:
        arguments = trainer_arguments(params, Path(work), 1)
        config = SFTConfig(
            **{**arguments, "save_strategy": "no"},
            max_length=None,
            train_sampling_strategy="sequential" if grouped else "random",
            dataset_kwargs={"skip_prepare_dataset": True},
        )
        dataset = Dataset.from_parquet(str(rows), columns=["input_ids", "labels"], cache_dir=work)
        if grouped:
            dataset = dataset.select(batch_order([len(ids) for ids in dataset["input_ids"]], batch, steps, 0))
        trainer = SFTTrainer(
            model=load_model(model), args=config, train_dataset=dataset, processing_class=load_tokenizer(model)
        )
        started = time.process_time()
        trainer.train()
        seconds = time.process_time() - started
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    tokens = max(entry.get("num_tokens", 0) for entry in trainer.state.log_history)
    tail = losses[-max(len(losses) // 5, 1) :]
    return {"tokens_per_second": tokens / seconds, "seconds": seconds, "loss": sum(tail) / len(tail)}


class OneAtATime:
    """`generate` of transformers, a turn of one episode a call: what rollouts are without a generator of our own."""

    name = "generate"

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def act(self, requests: Sequence[Any]) -> list[Any]:
        """One reply a request, each from a call of its own."""
        import torch

        from tracemill.evaluation.tokens import Generated

        replies = []
        for prompt in (self.policy.prompt(request) for request in requests):
            ids, end_ids = torch.tensor([prompt.ids]), list(self.policy.generator.end_ids)
            out = self.policy.model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=prompt.sampling.max_new_tokens,
                do_sample=False,
                eos_token_id=end_ids,
            )
            answer = tuple(out[0, ids.shape[1] :].tolist())
            replies.append(self.policy.reply(prompt, Generated(answer, (), answer[-1] in end_ids)))
        return replies

    def forget(self, keys: Sequence[str]) -> None:
        """Nothing is kept."""

    def reset(self) -> None:
        """Nothing is kept."""


Turns = list[list[tuple[int, ...]]]


def roll(given: Any, episodes: slice, live: int, plain: bool = False) -> tuple[float, Turns]:
    """Episodes a second, and the tokens of every turn."""
    import torch

    from tracemill.environment.episode import Episode
    from tracemill.environment.index import open_index
    from tracemill.environment.problem import read_problems
    from tracemill.evaluation.policies import Sampling
    from tracemill.evaluation.rollouts import play
    from tracemill.evaluation.transformers_policy import load_policy

    torch.set_num_threads(given.threads)
    policy, catalog = load_policy(given.model), open_index(given.index)
    played = [Episode(catalog, problem) for problem in list(read_problems(given.problems))[episodes]]
    started = time.process_time()
    replies = play(OneAtATime(policy) if plain else policy, played, Sampling(max_new_tokens=96), live=live)
    seconds = time.process_time() - started
    return len(played) / seconds, [[reply.completion_ids for reply in turns] for turns in replies]


def rollouts(given: Any) -> dict[str, Any]:
    """One at a time with transformers' `generate`, one at a time with ours, and many, on `--processes` processes."""
    few = slice(max(given.episodes // 4, 1))
    plain, plain_tokens = roll(given, few, 1, plain=True)
    one, one_tokens = roll(given, few, 1)
    share, live = given.episodes // given.processes, given.parallel // given.processes
    shares = [slice(i * share, (i + 1) * share) for i in range(given.processes)]
    with ProcessPoolExecutor(given.processes, multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(roll, repeat(given), shares, repeat(live)))
    many, many_tokens = sum(rate for rate, _ in found), [turns for _, tokens in found for turns in tokens]
    return {
        "generate_one_at_a_time": plain,
        "ours_one_at_a_time": one,
        f"ours_at_{given.parallel}": many,
        "processes": given.processes,
        "ratio_to_generate": many / plain,
        "ratio_to_ours": many / one,
        "same_tokens": plain_tokens == one_tokens == many_tokens[few],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rollouts", action="store_true")
    parser.add_argument("--index", type=Path)
    parser.add_argument("--problems", type=Path)
    parser.add_argument("--episodes", type=int, default=128)
    parser.add_argument("--parallel", type=int, default=16)
    parser.add_argument(
        "--processes", type=int, default=2, help="for --rollouts; the live episodes are shared among them"
    )
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    import torch

    torch.set_num_threads(given.threads)
    result: dict[str, Any] = {}
    if given.rollouts:
        result = rollouts(given)
    else:
        plain = train_once(given.model, given.rows, given.steps, given.batch, grouped=False)
        grouped = train_once(given.model, given.rows, given.steps, given.batch, grouped=True)
        ratio = grouped["tokens_per_second"] / plain["tokens_per_second"]
        result = {"plain": plain, "grouped": grouped, "ratio": ratio}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
