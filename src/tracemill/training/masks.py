"""The mask gate: what a training row supervises is exactly what the assistant wrote, or nothing is trained.

Every row is rendered and tokenised here, before a weight is loaded. The supervised tokens of each row must decode to
its assistant turns, each closed by the end token; a row that would lose text or exceeds the budget is dropped and
counted, never cut; a template that loses text itself stops the build by the name of the row.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tracemill.environment.chat import TURN_START, render_chat, safe_messages, training_template
from tracemill.errors import GateError
from tracemill.training.renderer import RowDefect, turn_text

IGNORED = -100
"""The label of a token that carries no loss, as torch names it."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One pre-tokenised training row; `labels` equals `input_ids` where the assistant wrote and is -100 elsewhere."""

    name: str
    source: str
    problem_id: str
    category: str
    input_ids: list[int]
    labels: list[int]
    desirable: bool = True
    """Whether the episode succeeded, for preference training."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A chat on its way to a row: messages as `renderer.training_messages` gives them."""

    name: str
    source: str
    problem_id: str
    category: str
    messages: list[dict[str, Any]]
    desirable: bool = True


def digest_text(text: str) -> str:
    """SHA-256 (hex) of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def mask_row(tokenizer: Any, chat: Candidate, tools: Sequence[Mapping[str, Any]]) -> Row:
    """Tokenise one chat and mark the assistant's tokens. Raises GateError, by the row's name, where the marks are
    wrong.
    """
    encoded = tokenizer.apply_chat_template(
        safe_messages(chat.messages),
        tools=[dict(tool) for tool in tools],
        chat_template=training_template(tokenizer.chat_template),
        tokenize=True,
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    ids, marks = list(encoded["input_ids"]), list(encoded["assistant_masks"])
    plain = tokenizer(render_chat(tokenizer, chat.messages, tools), add_special_tokens=False)["input_ids"]
    if ids != plain:
        raise GateError(f"row {chat.name}: the tokens with marks differ from the tokens of the text; no row is trained")
    labels = [token if mark else IGNORED for token, mark in zip(ids, marks, strict=True)]
    check_spans(tokenizer, chat, ids, labels)
    return Row(
        name=chat.name,
        source=chat.source,
        problem_id=chat.problem_id,
        category=chat.category,
        input_ids=ids,
        labels=labels,
        desirable=chat.desirable,
    )


def supervised_spans(labels: Sequence[int]) -> list[list[int]]:
    """The maximal runs of supervised tokens."""
    spans: list[list[int]] = []
    previous = IGNORED
    for label in labels:
        if label != IGNORED:
            if previous == IGNORED:
                spans.append([])
            spans[-1].append(label)
        previous = label
    return spans


def check_spans(tokenizer: Any, chat: Candidate, ids: Sequence[int], labels: Sequence[int]) -> None:
    """Raise GateError unless the spans decode to the assistant turns and each turn has one real marker."""
    turns = [turn_text(message) for message in chat.messages if message["role"] == "assistant"]
    spans = [tokenizer.decode(span) for span in supervised_spans(labels)]
    if spans != turns:
        at = next((i for i, pair in enumerate(zip(spans, turns, strict=False)) if pair[0] != pair[1]), None)
        what = (
            f"turn {at}: supervised {spans[at][:200]!r}, expected {turns[at][:200]!r}"
            if at is not None
            else f"{len(spans)} supervised spans, expected {len(turns)} turns"
        )
        raise GateError(f"row {chat.name}: {what}; the chat template loses or moves text, train with one that keeps it")
    start = tokenizer.convert_tokens_to_ids(TURN_START)
    expected = _turn_starts(chat.messages)
    found = sum(token == start for token in ids)
    if found != expected:
        raise GateError(f"row {chat.name}: {found} turn markers, expected {expected}; a trace's text became a marker")


def _turn_starts(messages: Sequence[Mapping[str, Any]]) -> int:
    """Turns in the template's sense: neighbouring tool messages share one."""
    roles = [message["role"] for message in messages]
    return sum(role != "tool" or (i > 0 and roles[i - 1] != "tool") for i, role in enumerate(roles))


class MaskReport(msgspec.Struct, kw_only=True):
    """What the gate saw; `dropped` counts by reason, `defects` names the rows."""

    rows_in: int = 0
    rows_kept: int = 0
    rows_trained: int = 0
    """Rows after mixing, repeating and limiting."""
    dropped: dict[str, int] = {}
    sources: dict[str, int] = {}
    categories: dict[str, int] = {}
    tokens: int = 0
    supervised_tokens: int = 0
    longest_row: int = 0
    max_length: int = 0
    template_sha256: str = ""
    shipped_template_sha256: str = ""
    example: str = ""
    """The decoded supervised text of the first row, to be looked at."""
    defects: list[dict[str, str]] = []


def mask_rows(
    tokenizer: Any,
    chats: Iterable[Candidate | tuple[str, RowDefect]],
    tools: Sequence[Mapping[str, Any]],
    max_length: int,
) -> tuple[list[Row], MaskReport]:
    """Pass every chat through the gate; rows keep their order. A defect found earlier comes as (name, RowDefect).

    Raises GateError where the tokenizer's template has no marks, where a row's marks are wrong, or where no row is
    left.
    """
    template = training_template(tokenizer.chat_template)
    report = MaskReport(max_length=max_length, template_sha256=digest_text(template))
    report.shipped_template_sha256 = digest_text(tokenizer.chat_template)
    rows: list[Row] = []
    dropped: Counter[str] = Counter()
    for chat in chats:
        report.rows_in += 1
        if isinstance(chat, Candidate):
            row = mask_row(tokenizer, chat, tools)
            if len(row.input_ids) <= max_length:
                rows.append(row)
                continue
            chat = (chat.name, RowDefect("over_budget", f"{len(row.input_ids)} tokens, budget {max_length}"))
        name, defect = chat
        dropped[defect.reason] += 1
        report.defects.append({"row": name, "reason": defect.reason, "detail": defect.detail})
    if not rows:
        reasons = ", ".join(f"{reason} {n}" for reason, n in sorted(dropped.items()))
        none_came = "none came; data/corpus/summary.json, and one for each snapshot, count what the corpus dropped"
        raise GateError(f"none of {report.rows_in} rows can be trained on: {reasons or none_came}")
    _count(report, rows, dropped)
    report.example = "".join(tokenizer.decode(span) for span in supervised_spans(rows[0].labels))
    return rows, report


def _count(report: MaskReport, rows: Sequence[Row], dropped: Mapping[str, int]) -> None:
    report.rows_kept = len(rows)
    report.dropped = dict(sorted(dropped.items()))
    report.sources = dict(sorted(Counter(row.source for row in rows).items()))
    report.categories = dict(sorted(Counter(row.category for row in rows).items()))
    report.tokens = sum(len(row.input_ids) for row in rows)
    report.supervised_tokens = sum(label != IGNORED for row in rows for label in row.labels)
    report.longest_row = max(len(row.input_ids) for row in rows)
