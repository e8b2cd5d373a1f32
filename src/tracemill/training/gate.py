"""The gate stage: choose a training stage's rows, pass them through the mask gate, and write rows, report and pass.

Rows of a stage by kind: `sft` takes corpus rows; `rejection` and `teacher_sft` take successes of rollouts or of the
teacher, mixed with corpus rows; `kto` takes all rollouts and corpus rows of both roles; `dr_grpo` renders the teacher's
episodes, which prove that prompts and marks are right before a policy is rolled out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tracemill.environment.episode import NO_CALL, STEP_LIMIT, TERMINATED
from tracemill.environment.params import PlayParams
from tracemill.environment.tools import TOOLS
from tracemill.evaluation.records import EpisodeRecord, read_records
from tracemill.leakage.pools import TRAIN, Pools, read_pools
from tracemill.training.checkpoint import load_tokenizer
from tracemill.training.masks import Row, mask_rows
from tracemill.training.params import RowParams, StageRows
from tracemill.training.renderer import RowDefect
from tracemill.training.rows import (
    UNDESIRABLE_ROLE,
    Chat,
    chat_of,
    corpus_chats,
    upsample,
    write_passed,
    write_report,
    write_rows,
)

TAKEN = (TERMINATED, STEP_LIMIT, NO_CALL)
"""Outcomes of episodes whose turns all stand in the history as they were written."""


class GateInputs(msgspec.Struct, frozen=True):
    """Files of a gate; `episodes` are rollouts or the teacher's episodes, where the kind has any."""

    parent: Path
    corpus: Path
    pools: Path
    episodes: list[Path]


class GateOutputs(msgspec.Struct, frozen=True):
    """Files that a gate writes; `passed` is constant."""

    rows: Path
    masks: Path
    passed: Path


def gate_rows(
    kind: str, inputs: GateInputs, outputs: GateOutputs, budget: RowParams, stage: StageRows, play: PlayParams
) -> None:
    """Choose, check and write the rows of one stage."""
    pools = read_pools(inputs.pools)
    records = [record for path in inputs.episodes for record in read_records(path)]
    corpus = inputs.corpus if wants_corpus(kind, records, stage) else None
    chats = chats_of_kind(kind, corpus, records, pools, play)
    rows, report = mask_rows(load_tokenizer(inputs.parent), chats, TOOLS, budget.max_length)
    rows = select_rows(kind, rows, stage)
    write_rows(rows, outputs.rows)
    report.rows_trained = len(rows)
    write_report(report, outputs.masks)
    write_passed(outputs.passed)


def wants_corpus(kind: str, records: Sequence[EpisodeRecord], stage: StageRows) -> bool:
    """Whether a stage can train on corpus rows: one with successes of its own and a share of 0 cannot."""
    if kind in ("rejection", "teacher_sft"):
        return stage.corpus_share > 0 or not any(record.success for record in records)
    return kind != "dr_grpo"


def chats_of_kind(
    kind: str, corpus: Path | None, records: Sequence[EpisodeRecord], pools: Pools, play: PlayParams
) -> list[Chat]:
    """All conversations that a stage of this kind may train on, in a fixed order; those of the corpus where one is
    given.
    """
    chats: list[Chat] = []
    if corpus is not None:
        chats += corpus_chats(corpus, pools, play)
    if corpus is not None and kind == "kto":
        chats += corpus_chats(corpus, pools, play, UNDESIRABLE_ROLE)
    for record in records:
        if record.success or kind == "kto":
            chats.append(record_chat(record, pools, play))
    return chats


def record_chat(record: EpisodeRecord, pools: Pools, play: PlayParams) -> Chat:
    """One played episode as a conversation; refused where its problem is not in the train pool, or where its last turn
    was not taken: what then stands in the history is not what the model wrote, or nobody wrote anything.
    """
    if record.outcome not in TAKEN:
        return record.key, RowDefect("broken_turn", f"the last turn was not taken: {record.outcome}")
    refused = None if pools.pool_of(record.problem.query, record.problem.gold_ids) == TRAIN else "not_in_train_pool"
    refused = refused or pools.refuse(record.problem.query, record.problem.gold_ids, record.recommended)
    if refused:
        return record.key, RowDefect(refused, f"problem {record.problem.problem_id}")
    chat = chat_of(
        record.key, "rollout", record.problem.problem_id, record.problem.category, record.messages, play, rendered=True
    )
    return chat if isinstance(chat, tuple) else msgspec.structs.replace(chat, desirable=record.success)


def select_rows(kind: str, rows: Sequence[Row], stage: StageRows) -> list[Row]:
    """Mix, repeat and limit the rows that passed."""
    own = distinct([row for row in rows if row.source != "corpus"])
    corpus = [row for row in rows if row.source == "corpus"]
    if kind == "teacher_sft":
        own = balance(own, "voucher", "shop")
    if kind in ("rejection", "teacher_sft"):
        corpus = share_of(corpus, len(own), stage.corpus_share)
    chosen = upsample([*corpus, *own], stage.upsample)
    return first_by_hash(chosen, stage.most) if stage.most else chosen


def distinct(rows: Sequence[Row]) -> list[Row]:
    """Rows with equal tokens once each, the first of them."""
    return list({tuple(row.input_ids): row for row in reversed(rows)}.values())[::-1]


def balance(rows: Sequence[Row], small: str, large: str) -> list[Row]:
    """Repeat the rows of category `small`, in turn, until they are as many as those of `large`."""
    few = [row for row in rows if row.category == small]
    missing = sum(row.category == large for row in rows) - len(few)
    return [*rows, *(few[i % len(few)] for i in range(max(missing, 0)) if few)]


def share_of(corpus: Sequence[Row], own: int, share: float) -> list[Row]:
    """As many corpus rows, chosen by hash, as make up `share` beside `own` rows; all of them where there are fewer.

    Where a stage has no row of its own (a parent that solved nothing), the corpus is all there is to train on.
    """
    wanted = len(corpus) if share >= 1 or not own else round(own * share / (1 - share))
    return first_by_hash(corpus, wanted)


def first_by_hash(rows: Sequence[Row], most: int) -> list[Row]:
    """`most` rows by the hash of their names, in their old order: a larger choice keeps the rows of a smaller one."""
    order = sorted(range(len(rows)), key=lambda i: (hashlib.sha256(rows[i].name.encode()).digest(), i))
    kept = set(order[:most])
    return [row for i, row in enumerate(rows) if i in kept]
