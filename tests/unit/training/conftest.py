import msgspec
import pytest

from tracemill.environment.params import PlayParams
from tracemill.environment.tools import TOOLS
from tracemill.training.masks import Candidate
from tracemill.training.renderer import assistant_message


@pytest.fixture(scope="session")
def products():
    from tracemill.arena.catalog import generate_catalog
    from tracemill.arena.params import CatalogParams

    return generate_catalog(CatalogParams(products=60, shops=12))


@pytest.fixture(scope="session")
def tokenizer(products):
    from tracemill.training.texts import added_tokens, tokenizer_texts
    from tracemill.training.tokenizer import train_tokenizer

    return train_tokenizer(tokenizer_texts(products, 0), added_tokens(), 900)


@pytest.fixture(scope="session")
def base(tmp_path_factory, tokenizer):
    """A base checkpoint of the smallest shape."""
    from tracemill.training.base import build_tiny
    from tracemill.training.checkpoint import publish
    from tracemill.training.lineage import stage_record, write_lineage
    from tracemill.training.params import CopyParams, TinyParams

    shape = TinyParams(
        vocabulary=900,
        hidden=32,
        layers=2,
        heads=2,
        kv_heads=1,
        head_dim=16,
        intermediate=32,
        pretraining=CopyParams(steps=2, batch=2, length=32),
    )
    folder = tmp_path_factory.mktemp("models") / "base"
    publish(build_tiny(shape, tokenizer, 0), tokenizer, folder)
    write_lineage(folder, [stage_record("base", "tiny", {}, None, None)])
    return folder


def call(name, **arguments):
    return {"id": "call_0", "type": "function", "function": {"name": name, "arguments": arguments}}


def chat(name="row-1", think="Search for red mug.", content="", query="I need a red mug.", result="123456 | red mug"):
    """A search and a recommendation, as the renderer hands it to the gate."""
    search = {"role": "assistant", "content": content, "reasoning_content": think}
    turns = [
        assistant_message({**search, "tool_calls": [call("find_product", q="red mug")]}),
        assistant_message(
            {
                "role": "assistant",
                "content": "",
                "reasoning_content": "It fits.",
                "tool_calls": [call("recommend_product", product_ids="123456")],
            }
        ),
    ]
    messages = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": query},
        turns[0],
        {"role": "tool", "content": result},
        turns[1],
    ]
    return Candidate(name=name, source="corpus", problem_id="p", category="product", messages=messages)


@pytest.fixture(scope="session")
def scene(tmp_path_factory, products):
    """An index, and the scripted expert's episodes on six problems."""
    from tracemill.arena.params import ProblemParams
    from tracemill.arena.problems import generate_problems
    from tracemill.environment.index import build_index, open_index
    from tracemill.evaluation.backends import expert_policy
    from tracemill.evaluation.collect import Arena, collect, make_jobs
    from tracemill.evaluation.policies import Sampling
    from tracemill.evaluation.records import write_records

    folder = tmp_path_factory.mktemp("scene")
    build_index(products, folder / "index")
    problems = [p for p in generate_problems(products, ProblemParams(problems=10)) if p.category == "product"][:6]
    arena = Arena(open_index(folder / "index"), PlayParams())
    write_records(collect(expert_policy(), make_jobs(problems, 1, Sampling()), arena), folder / "teacher.jsonl.zst")
    return folder


def rows_file(tokenizer, path):
    """Eight rows of eight problems that passed the gate, every second one desirable."""
    from tracemill.training.masks import mask_rows
    from tracemill.training.rows import write_rows

    rows, _ = mask_rows(tokenizer, [chat(f"r{i}", query=f"I need mug {i}.") for i in range(8)], TOOLS, 1024)
    changed = [msgspec.structs.replace(r, problem_id=str(i), desirable=i % 2 == 0) for i, r in enumerate(rows)]
    write_rows(changed, path)
    return path


def make_run(kind, base, rows, folder):
    from tracemill.training.sft import Run

    return Run(kind, kind, base, rows, folder / "model", folder / "plot_curve.csv", folder / "work")
