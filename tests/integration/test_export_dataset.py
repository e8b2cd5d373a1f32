"""The exported folder opens with `datasets.load_dataset` and trains with SFTTrainer, token for token."""

import json

import polars as pl
import pytest

from tracemill.environment.chat import shipped_template
from tracemill.environment.params import EpisodeParams, ObservationParams, PlayParams, PromptParams
from tracemill.environment.tools import TOOLS
from tracemill.errors import InputError, StageError
from tracemill.leakage.nodes import problem_key
from tracemill.training.export import export_dataset

pytestmark = pytest.mark.torch
PLAY = PlayParams(episode=EpisodeParams(), observation=ObservationParams(), prompt=PromptParams())
POOLS = {"a red mug": "train", "a blue <|im_end|> kettle": "train", "a green jar": "eval", "a black pan": "never_touch"}


def call(number, name, **arguments):
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def messages(query):
    found = [{"product_id": "11", "shop_id": "1", "title": query, "price": 5.0, "service": []}]
    think = {"role": "assistant", "content": "", "reasoning_content": f"I look for {query[:5]}."}
    return [
        {"role": "user", "content": query},
        {**think, "tool_calls": [call(0, "find_product", q=query[:5], page=1)]},
        {"role": "tool", "tool_call_id": "call_0", "name": "find_product", "content": json.dumps(found)},
        {**think, "tool_calls": [call(1, "recommend_product", product_ids="11")]},
        {"role": "tool", "tool_call_id": "call_1", "name": "recommend_product", "content": '"ok"'},
        {**think, "tool_calls": [call(2, "terminate", status="success")]},
        {"role": "tool", "tool_call_id": "call_2", "name": "terminate", "content": '"ok"'},
    ]


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    (folder / "corpus").mkdir(parents=True)
    (folder / "leakage").mkdir()
    rows = [
        {
            "snapshot_digest": "f" * 64,
            "line": line,
            "problem_id": f"p{line}",
            "problem_key": problem_key(query, []),
            "category": "product",
            "messages": json.dumps(messages(query)),
            "recommended_ids": ["11"],
            "role": role,
        }
        for line, (query, role) in enumerate([*((q, "sft") for q in POOLS), ("a red mug", "undesirable")], 1)
    ]
    pl.DataFrame(rows).write_parquet(folder / "corpus" / "corpus.parquet")
    pools = [{"problem_key": problem_key(q, []), "pool": pool, "gold_ids": []} for q, pool in POOLS.items()]
    pl.DataFrame(pools, schema_overrides={"gold_ids": pl.List(pl.String)}).write_parquet(
        folder / "leakage" / "pools.parquet"
    )
    (folder / "corpus" / "summary.json").write_text(json.dumps({"in": 5, "roles": {"sft": 4, "undesirable": 1}}))
    (folder / "leakage" / "shares.json").write_text(json.dumps({"problems": {"train": 2, "eval": 1}}))
    return folder


def test_each_pool_becomes_a_split_and_the_card_counts_it(data, tmp_path):
    import datasets

    assert export_dataset(data, tmp_path / "out", PLAY) == {"train": 2, "eval": 1}

    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert loaded["train"]["problem_id"] == ["p1", "p2"]
    assert loaded["eval"]["problem_id"] == ["p3"]
    assert loaded["train"][0]["tools"] == TOOLS
    arguments = loaded["train"][0]["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert arguments == {"q": "a red", "page": 1}
    assert "| train | 2 | 2 | 2 |" in (tmp_path / "out" / "README.md").read_text()
    assert "<|im_end|>" not in loaded["train"][1]["messages"][1]["content"]


def test_the_trainer_keeps_every_row_and_supervises_the_same_tokens(data, tmp_path, tokenizer, model):
    import datasets
    from trl import SFTConfig, SFTTrainer

    from tracemill.training.masks import Candidate, mask_row

    export_dataset(data, tmp_path / "out", PLAY)
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"), split="train")
    arguments = SFTConfig(
        output_dir=str(tmp_path / "trainer"),
        assistant_only_loss=True,
        max_length=None,
        bf16=False,
        use_cpu=True,
        gradient_checkpointing=False,
        report_to="none",
    )
    tokenizer.chat_template = shipped_template("qwen3")
    prepared = SFTTrainer(model=model, args=arguments, train_dataset=loaded, processing_class=tokenizer).train_dataset

    ours = [
        mask_row(
            tokenizer,
            Candidate(name=row["id"], source="corpus", problem_id="", category="", messages=row["messages"]),
            TOOLS,
        )
        for row in loaded
    ]
    assert len(prepared) == len(ours) == 2
    for theirs, row in zip(prepared, ours, strict=True):
        assert theirs["input_ids"] == row.input_ids
        assert theirs["labels"] == row.labels
        assert any(token != -100 for token in row.labels)


def test_nothing_is_overwritten_and_nothing_is_written_without_a_corpus(data, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="exists already"):
        export_dataset(data, tmp_path / "out", PLAY)
    (data / "corpus" / "corpus.parquet").unlink()
    with pytest.raises(StageError, match="is not built yet"):
        export_dataset(data, tmp_path / "other", PLAY)
    assert not (tmp_path / "other").exists()


@pytest.fixture
def tokenizer():
    from tiny_model import make_tokenizer

    return make_tokenizer()


@pytest.fixture
def model(tokenizer):
    from tiny_model import make_model

    return make_model(len(tokenizer))
