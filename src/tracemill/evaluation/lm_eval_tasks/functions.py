"""Documents and scores of the tasks; lm-eval loads this file by its path and passes model arguments and metadata by
name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

EPISODES = "data/evaluation/expert/episodes.jsonl.zst"
PROBLEMS = "data/environment/problems.jsonl"
POOLS = "data/leakage/pools.parquet"


def next_action_documents(pretrained: str = "", episodes: str = EPISODES, **_: Any) -> dict[str, Any]:
    """Turns of the expert's solved episodes, rendered with the tokenizer of `pretrained`."""
    from datasets import Dataset
    from transformers import AutoTokenizer

    from tracemill.environment.chat import render_chat
    from tracemill.environment.tools import TOOLS
    from tracemill.errors import InputError
    from tracemill.evaluation.next_action import documents
    from tracemill.evaluation.records import read_records

    if not pretrained:
        raise InputError(
            "tracemill_next_action renders with the model's tokenizer; give --model_args pretrained=FOLDER"
        )
    tokenizer = AutoTokenizer.from_pretrained(pretrained, trust_remote_code=False)
    rows = [
        {
            "problem_id": document.problem_id,
            "category": document.category,
            "turn": document.turn,
            "prompt": render_chat(tokenizer, document.messages, TOOLS, add_generation_prompt=True),
            "wanted": msgspec.json.encode(document.wanted).decode(),
        }
        for document in documents(read_records(Path(episodes)))
    ]
    return {"test": Dataset.from_list(rows)}


def next_action_scores(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """Scores of one generated turn."""
    from tracemill.environment.episode import Call
    from tracemill.evaluation.next_action import score_answer

    return score_answer(msgspec.json.decode(doc["wanted"], type=list[Call]), results[0])


def episode_documents(problems: str = PROBLEMS, pools: str = POOLS, **_: Any) -> dict[str, Any]:
    """The problems of the eval pool, each as a request to the registered model `tracemill`."""
    from datasets import Dataset

    from tracemill.evaluation.lm_wrapper import episode_request
    from tracemill.evaluation.records import EVAL_SUITE
    from tracemill.evaluation.suites import load_suites

    suite = load_suites(Path(problems), [], Path(pools), [EVAL_SUITE])
    return {
        "test": Dataset.from_list(
            [{"problem_id": p.problem.problem_id, "request": episode_request(p)} for p in suite.problems]
        )
    }


def episode_scores(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """Scores of one episode as our own engine gives them."""
    scores: dict[str, float] = msgspec.json.decode(results[0])["scores"]
    return scores


def pass_scores(doc: dict[str, Any], results: list[Any]) -> dict[str, float]:
    """Whether one of the first k episodes succeeds."""
    answers = results[0] if results and isinstance(results[0], list) else results
    return {"success": float(any(msgspec.json.decode(answer)["scores"]["success"] for answer in answers))}
