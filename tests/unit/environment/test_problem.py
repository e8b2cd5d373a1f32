"""A problem file that cannot be used ends in one line with file and line number."""

from pathlib import Path

import pytest

from tracemill.environment.problem import Problem, read_problems
from tracemill.errors import InputError

GOOD = '{"query": "a red mug", "reward": {"product_id": "1"}}\n'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "no JSON object"),
        ("[1]", "expected one JSON object"),
        ("[" * 100_000 + "]" * 100_000, "no JSON object"),
        ('{"query": 1}', "`query` is int"),
        ('{"query": "x", "reward": [1]}', "a member that is no object"),
        ('{"query": "x", "reward": "y"}', "`reward` is str"),
        ('{"query": "x", "reward": {}, "category": "car"}', "`category` is 'car'"),
    ],
)
def test_a_line_that_is_no_problem_is_named(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "problems.jsonl"
    file.write_text(f"{GOOD}\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"problems\.jsonl:3: .*{said}"):
        list(read_problems(file))


def test_the_mark_that_editors_write_first_is_no_content(tmp_path: Path) -> None:
    file = tmp_path / "problems.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.encode().replace(b"\n", b"\r\n") * 2)
    assert [problem.query for problem in read_problems(file)] == ["a red mug"] * 2
    file.write_bytes(GOOD.encode() + b"\xef\xbb\xbf" + GOOD.encode())
    with pytest.raises(InputError, match=r"problems\.jsonl:2"):
        list(read_problems(file))


def test_a_product_id_is_one_text_however_it_was_kept() -> None:
    kept = ["5088726186", 5088726186, 5088726186.0, " 5088726186\n", "", None, " ", "A-1", 0, 1.5]
    problem = Problem("p", "shop", "q", [{"product_id": value} for value in kept] + [{}])
    assert problem.gold_ids == ("5088726186", "A-1", "0", "1.5")
