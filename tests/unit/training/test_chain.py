import pyarrow.parquet as pq
import pytest
from tests.unit.training.conftest import make_run, rows_file

from tracemill.environment.params import PlayParams, ScorerParams
from tracemill.environment.tools import TOOLS
from tracemill.errors import StageError
from tracemill.training.params import GrpoParams, KtoParams, OptimiserParams

pytestmark = pytest.mark.torch

TRAIN = OptimiserParams(max_steps=2, batch=4, device_batch=4, save_steps=2, learning_rate=1e-3, warmup_steps=1)


def test_kto_trains_on_the_gates_masks_and_publishes_a_whole_checkpoint(base, tokenizer, tmp_path):
    from tracemill.training.kto import train_kto

    run = make_run("kto", base, rows_file(tokenizer, tmp_path / "rows.parquet"), tmp_path)
    train_kto(run, TRAIN, KtoParams(), threads=1)
    assert (run.model / "model.safetensors").read_bytes() != (base / "model.safetensors").read_bytes()
    assert run.curve.read_text(encoding="utf-8").startswith("step,loss,learning_rate,kl,")


def test_a_run_killed_after_its_last_step_is_published_without_another_step(base, tokenizer, tmp_path):
    import shutil

    from tracemill.training.kto import train_kto

    run = make_run("kto", base, rows_file(tokenizer, tmp_path / "rows.parquet"), tmp_path)
    params = TRAIN.model_copy(update={"max_steps": 1, "scheduler": "constant_with_warmup", "warmup_steps": 0})
    train_kto(run, params, KtoParams(), threads=1)
    weights, curve = (run.model / "model.safetensors").read_bytes(), run.curve.read_bytes()
    shutil.rmtree(run.model)
    train_kto(run, params, KtoParams(), threads=1)
    assert run.curve.read_bytes() == curve
    assert (run.model / "model.safetensors").read_bytes() == weights


def test_kto_counts_no_observation_in_a_completion(tokenizer, tmp_path):
    from tracemill.training.kto import kto_dataset

    rows = rows_file(tokenizer, tmp_path / "rows.parquet")
    dataset = kto_dataset(rows, 4, 0, tmp_path / "arrow")
    first = dataset[0]
    written = [t for t, mark in zip(first["completion_ids"], first["completion_marks"], strict=True) if mark]
    assert "123456 | red mug" not in tokenizer.decode(written)
    assert "123456 | red mug" in tokenizer.decode(first["completion_ids"])
    assert first["KL_completion_ids"] == dataset[3]["completion_ids"]
    assert pq.read_table(rows).num_rows == 8


def test_dr_grpo_plays_the_real_environment_and_logs_its_reward_parts(base, tokenizer, scene, tmp_path):
    from tracemill.training.grpo import GrpoInputs, train_grpo

    run = make_run("dr_grpo", base, rows_file(tokenizer, tmp_path / "rows.parquet"), tmp_path)
    train_grpo(
        run,
        GrpoInputs(teacher=scene / "teacher.jsonl.zst", index=scene / "index"),
        TRAIN,
        GrpoParams(group=2, groups=2, max_turn_tokens=8, max_completion_length=64, beta=0.01),
        (PlayParams(), ScorerParams()),
        threads=1,
    )
    header, *lines = run.curve.read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in lines] == ["1", "2"]
    values = dict(zip(header.split(","), lines[0].split(","), strict=True))
    assert values["rewards/outcome/mean"] == "0"
    assert values["hallucinated_ids"] != ""
    assert values["kl"] != ""


def test_a_teacher_that_solved_less_than_a_step_takes_is_an_error_and_no_checkpoint(base, tokenizer, scene, tmp_path):
    from tracemill.training.grpo import GrpoInputs, train_grpo

    run = make_run("dr_grpo", base, rows_file(tokenizer, tmp_path / "rows.parquet"), tmp_path)
    inputs = GrpoInputs(teacher=scene / "teacher.jsonl.zst", index=scene / "index")
    with pytest.raises(StageError, match="the teacher solved 6 problems, a step takes 7"):
        train_grpo(run, inputs, TRAIN, GrpoParams(group=2, groups=7), (PlayParams(), ScorerParams()), threads=1)
    assert not run.model.exists()


def test_an_episode_of_the_environment_is_a_training_row_with_the_same_tokens(scene, tokenizer):
    """The prefix of every training turn is what a rollout shows."""
    from tracemill.environment.chat import encode_chat
    from tracemill.evaluation.records import read_records
    from tracemill.training.masks import mask_row
    from tracemill.training.rows import chat_of

    for record in read_records(scene / "teacher.jsonl.zst"):
        row = mask_row(tokenizer, chat_of("r", "s", "p", "product", record.messages, PlayParams(), True), TOOLS)
        for end, message in enumerate(record.messages):
            if message["role"] == "assistant":
                shown = encode_chat(tokenizer, record.messages[:end], TOOLS, True)
                assert row.input_ids[: len(shown)] == shown
