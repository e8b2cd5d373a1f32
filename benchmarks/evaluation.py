"""Episodes played at once against one at a time, and with keys and values kept against prompts run anew.

    python benchmarks/evaluation.py [--episodes 64] [--threads 1] [--pages] [--json OUT.json]

A tiny model of the embedded shape (its weights do not matter here) is made to write what the scripted expert writes,
so every measurement plays the same solved episodes with the same tokens, and each token costs one real forward pass.
Ratios are within one run, against one episode at a time with plain generation: no batch, every prompt run whole.
Seconds are those of the processor, which a busy machine does not stretch; wall-clock rates are printed beside them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen3ForCausalLM

from tracemill.arena.catalog import generate_catalog
from tracemill.arena.expert import Expert
from tracemill.arena.params import CatalogParams, ProblemParams
from tracemill.arena.problems import generate_problems
from tracemill.environment.chat import encode_chat
from tracemill.environment.episode import Episode
from tracemill.environment.index import build_index, open_index
from tracemill.environment.tools import TOOLS
from tracemill.evaluation.generation import Generator
from tracemill.evaluation.policies import Sampling, ScriptedPolicy
from tracemill.evaluation.rollouts import play
from tracemill.evaluation.token_policy import end_token_ids
from tracemill.evaluation.tokens import Prompt
from tracemill.evaluation.transformers_policy import TransformersPolicy
from tracemill.training.base import tiny_config
from tracemill.training.params import TinyParams
from tracemill.training.texts import added_tokens, tokenizer_texts
from tracemill.training.tokenizer import train_tokenizer


class Reciting(Generator):
    """Writes given tokens after given prompts, whatever the logits say."""

    script: dict[tuple[int, ...], tuple[int, ...]]

    def choose(
        self, logits: torch.Tensor, prompts: Sequence[Prompt], drawn: Sequence[int], uniforms: Sequence[float]
    ) -> torch.Tensor:
        """Draw as usual, for the cost of it, and return the script's tokens."""
        super().choose(logits, prompts, drawn, uniforms)
        wanted = [self.script[p.ids] for p in prompts]
        return torch.tensor([w[min(n, len(w) - 1)] for w, n in zip(wanted, drawn, strict=True)], device=logits.device)


def build(folder: Path, count: int) -> tuple[Any, list[Any], Any, Any, dict[Any, Any]]:
    """Catalogue, problems, model, tokenizer, and what the expert writes after each prompt."""
    products = generate_catalog(CatalogParams())
    problems = generate_problems(products, ProblemParams())[:: max(1, 400 // count)][:count]
    build_index(products, folder / "index")
    catalog = open_index(folder / "index")
    tokenizer = train_tokenizer(tokenizer_texts(products, 0), added_tokens(), 1536)
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(tiny_config(TinyParams(), tokenizer)).eval()
    episodes = [Episode(catalog, problem) for problem in problems]
    play(ScriptedPolicy(Expert()), episodes, Sampling())
    script = {}
    for episode in episodes:
        for at, message in enumerate(episode.messages):
            if message["role"] == "assistant":
                prompt = encode_chat(tokenizer, episode.messages[:at], TOOLS, True)
                whole = encode_chat(tokenizer, episode.messages[: at + 1], TOOLS)
                script[tuple(prompt)] = tuple(whole[len(prompt) : whole.index(end_of(tokenizer), len(prompt)) + 1])
    return catalog, problems, model, tokenizer, script


def end_of(tokenizer: Any) -> int:
    return int(tokenizer.convert_tokens_to_ids("<|im_end|>"))


def measure(built: Any, parallel: int, reuse: bool, count: int) -> dict[str, Any]:
    """Play `count` episodes, `parallel` at once."""
    catalog, problems, model, tokenizer, script = built
    policy = TransformersPolicy(model, tokenizer)
    policy.generator = Reciting(model, end_token_ids(model.generation_config, tokenizer), reuse=reuse)
    policy.generator.script = script
    episodes = [Episode(catalog, problem) for problem in problems[:count]]
    replies = []
    began, spent = time.perf_counter(), time.process_time()
    for start in range(0, count, parallel):
        replies += play(policy, episodes[start : start + parallel], Sampling(max_new_tokens=256))
    wall, seconds = time.perf_counter() - began, time.process_time() - spent
    tokens = sum(reply.completion_tokens for turns in replies for reply in turns)
    solved = sum(episode.outcome == "terminated" for episode in episodes)
    assert solved == count, f"{count - solved} episodes did not follow the script"
    return {
        "parallel": parallel,
        "reuse": reuse,
        "episodes_per_s": count / seconds,
        "tokens_per_s": tokens / seconds,
        "episodes_per_wall_s": count / wall,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pages", action="store_true", help="also weigh and open report pages (report_page.py)")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        built = build(Path(folder), options.episodes)
        measure(built, 8, True, min(8, options.episodes))
        rows = [measure(built, 1, False, min(16, options.episodes))]
        for parallel in (1, 4, 16, 64):
            count = min(options.episodes, max(16, parallel))
            rows += [
                measure(built, parallel, reuse, count) for reuse in (False, True) if (parallel, reuse) != (1, False)
            ]
    for row in rows:
        row["ratio"] = row["episodes_per_s"] / rows[0]["episodes_per_s"]
        print(
            f"{row['parallel']:3d} at once, {'keys kept' if row['reuse'] else 'run anew '}: "
            f"{row['episodes_per_s']:7.2f} episodes/s {row['tokens_per_s']:8.0f} tokens/s  {row['ratio']:6.2f}x "
            f"({row['episodes_per_wall_s']:.2f} by the wall)"
        )
    if options.pages:
        subprocess.run([sys.executable, str(Path(__file__).with_name("report_page.py"))], check=True)
    if options.json:
        options.json.write_text(json.dumps({"threads": options.threads, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
