"""What is kept of a played episode: one line of `episodes.jsonl.zst`.

A record holds the whole conversation, the production score with what was wanted and found on each failed axis, and
what it cost. It holds no time of day and no speed, so equal episodes are equal bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tracemill.environment.episode import POLICY_ERROR, Episode
from tracemill.environment.grading import Grade
from tracemill.environment.problem import Problem
from tracemill.environment.recommendation import recommended_ids, split_ids
from tracemill.environment.tools import TOOL_NAMES
from tracemill.errors import InputError
from tracemill.evaluation.policies import Reply, Sampling

EVAL_SUITE = "eval"

AXES = ("product", "gt", "title", "price", "service", "sku & attrs")
"""Keys of the production score that are shares of wanted products or constraints; `shop` and `budget` are conditions.
"""

_ID = re.compile(r"[\w.\-]+")
_ID_TOOLS = ("view_product_information", "recommend_product")


class EpisodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One episode. `sample` counts the episodes of one problem under the same settings, from 0."""

    key: str
    suites: list[str] = []
    problem: Problem
    problem_key: str = ""
    sample: int = 0
    sampling: Sampling
    policy: str = ""
    outcome: str
    """How it ended: `terminated`, `step_limit`, `no_call`, `malformed_call`, `context_limit`, or a policy's error by
    name.
    """
    detail: str | None = None
    success: bool
    score: dict[str, float] | None
    failures: list[dict[str, Any]]
    """Failed axes: what was wanted and what was found."""
    score_error: str | None = None
    recommended: list[str]
    hallucinated: list[str]
    """Product ids that were viewed or recommended without ever having been shown."""
    tool_errors: dict[str, int]
    """Calls that no tool took: `unknown_tool`, `bad_arguments`."""
    steps: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    messages: list[dict[str, Any]]


def make_record(
    key: str,
    episode: Episode,
    grade: Grade,
    replies: Sequence[Reply],
    sampling: Sampling,
    *,
    sample: int = 0,
    policy: str = "",
    problem_key: str = "",
    suites: Sequence[str] = (),
) -> EpisodeRecord:
    """Return the record of an episode that ended, with its grade."""
    dialogue = episode.dialogue()
    outcome = (episode.outcome or "running") if episode.outcome != POLICY_ERROR else _error_name(episode.error)
    return EpisodeRecord(
        key=key,
        suites=list(suites),
        problem=episode.problem,
        problem_key=problem_key,
        sample=sample,
        sampling=sampling,
        policy=policy,
        outcome=outcome,
        detail=episode.error if episode.error != outcome else None,
        success=grade.success,
        # production gives a mix of integers and floats; one kind only, or a record read from the journal would differ
        score={key: float(value) for key, value in grade.score.items()} if grade.score is not None else None,
        failures=grade.failures,
        score_error=grade.error,
        recommended=recommended_ids(dialogue),
        hallucinated=hallucinated_ids(episode.messages),
        tool_errors=tool_errors(episode),
        steps=episode.steps,
        calls=sum(len(results) for results in episode.results),
        prompt_tokens=sum(reply.prompt_tokens for reply in replies),
        completion_tokens=sum(reply.completion_tokens for reply in replies),
        messages=episode.messages,
    )


def _error_name(error: str | None) -> str:
    return (error or POLICY_ERROR).partition(":")[0].strip() or POLICY_ERROR


def hallucinated_ids(messages: Iterable[dict[str, Any]]) -> list[str]:
    """Product ids in the calls of a conversation that no earlier message showed, sorted, without repetition."""
    shown: set[str] = set()
    invented: set[str] = set()
    for message in messages:
        if message["role"] != "assistant":
            shown.update(_ID.findall(str(message.get("content") or "")))
            continue
        for name, arguments in _calls(message):
            if name in _ID_TOOLS and isinstance(arguments, dict):
                invented.update(i for i in split_ids(arguments.get("product_ids")) if i not in shown)
    return sorted(invented)


def _calls(message: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for call in message.get("tool_calls") or ():
        yield call["function"]["name"], call["function"]["arguments"]


def tool_errors(episode: Episode) -> dict[str, int]:
    """Count the calls that no tool took, by kind."""
    found: Counter[str] = Counter()
    calls = [call for message in episode.messages if message["role"] == "assistant" for call in _calls(message)]
    results = [result for turn in episode.results for result in turn]
    for (name, _), result in zip(calls, results, strict=True):
        if name not in TOOL_NAMES:
            found["unknown_tool"] += 1
        elif isinstance(result, dict) and "error" in result:
            found["bad_arguments"] += 1
    return dict(sorted(found.items()))


def write_records(records: Iterable[EpisodeRecord], path: Path) -> None:
    """Write records as JSON lines in zstd, in the order given; equal records give equal bytes."""
    import zstandard

    with path.open("wb") as raw, zstandard.ZstdCompressor(level=10).stream_writer(raw, closefd=False) as out:
        for record in records:
            out.write(msgspec.json.encode(record) + b"\n")


def read_records(path: Path) -> list[EpisodeRecord]:
    """Return the records of an `episodes.jsonl.zst`. Raises InputError with file and line for what is no record."""
    import zstandard

    records = []
    try:
        with path.open("rb") as raw:
            data = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True).read()
    except (OSError, zstandard.ZstdError) as error:
        raise InputError(f"{path}: cannot be read ({error}); evaluate the checkpoint again") from error
    for number, line in enumerate(data.splitlines(), 1):
        try:
            records.append(msgspec.json.decode(line, type=EpisodeRecord))
        except msgspec.DecodeError as error:
            raise InputError(f"{path}:{number}: no episode record ({error}); evaluate the checkpoint again") from error
    return records
