"""A shopping problem: what the user asks, and the reward specification that says when it is solved.

Formats read: ShoppingBench's JSONL (`query`, `reward`, `voucher`) and the SN15 suite (the same with capitalised
categories). Rewards are kept as published, since the scorer compares their values without casts.
"""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tracemill.errors import InputError

CATEGORIES = ("product", "shop", "voucher")


class Problem(msgspec.Struct, frozen=True):
    """One problem. `reward` is an object for product problems and a list of objects for shop and voucher problems."""

    problem_id: str
    category: str
    query: str
    reward: dict[str, Any] | list[dict[str, Any]] | None = None
    voucher: dict[str, Any] | None = None

    @property
    def rewards(self) -> list[dict[str, Any]]:
        """The wanted products, one object each, in the order of the task."""
        if self.reward is None:
            return []
        return [self.reward] if isinstance(self.reward, dict) else list(self.reward)

    @property
    def gold_ids(self) -> tuple[str, ...]:
        """Product ids named by the reward as text, in the order of the task, without repetition."""
        ids = (_id_text(r["product_id"]) for r in self.rewards if r.get("product_id") is not None)
        return tuple(dict.fromkeys(filter(None, ids)))


def _id_text(given: Any) -> str:
    """An id whichever way a table has kept it: `5088726186.0` is what becomes of a column of numbers with a gap."""
    whole = isinstance(given, float) and given.is_integer()
    return str(int(given) if whole else given).strip()


def parse_problem(row: Mapping[str, Any], where: str) -> Problem:
    """Return the problem in one JSON object; `where` (file:line) names it in errors and stands in for a missing id.

    Raises InputError when `query` is no text, or reward, voucher or category have a wrong type.
    """
    query, reward, voucher = row.get("query"), row.get("reward"), row.get("voucher")
    if not isinstance(query, str):
        raise InputError(f"{where}: `query` is {type(query).__name__}, expected text")
    if isinstance(reward, list):
        if not all(isinstance(r, dict) for r in reward):
            raise InputError(f"{where}: `reward` is a list with a member that is no object")
    elif reward is not None and not isinstance(reward, dict):
        raise InputError(f"{where}: `reward` is {type(reward).__name__}, expected an object or a list of objects")
    if voucher is not None and not isinstance(voucher, dict):
        raise InputError(f"{where}: `voucher` is {type(voucher).__name__}, expected an object or null")
    given = row.get("category")
    category = (
        str(given).lower() if given else ("voucher" if voucher else "shop" if isinstance(reward, list) else "product")
    )
    if category not in CATEGORIES:
        raise InputError(f"{where}: `category` is {given!r}, expected one of {', '.join(CATEGORIES)}")
    problem_id = row.get("problem_id")
    return Problem(str(problem_id) if problem_id not in (None, "") else where, category, query, reward, voucher)


def read_problems(path: Path) -> Iterator[Problem]:
    """Yield the problems of a JSONL file in file order; blank lines are passed over.

    Raises InputError with file and line for anything that is no problem.
    """
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            line = line.removeprefix(BOM_UTF8) if number == 1 else line
            if not line.strip():
                continue
            where = f"{path.name}:{number}"
            try:
                row = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise InputError(f"{path}:{number}: no JSON object ({error}); expected one problem a line") from error
            if not isinstance(row, dict):
                raise InputError(f"{path}:{number}: {type(row).__name__}, expected one JSON object a line")
            yield parse_problem(row, where)


def write_problems(problems: Iterable[Problem], path: Path) -> None:
    """Write problems as JSONL, in the order given."""
    with path.open("wb") as out:
        for problem in problems:
            out.write(msgspec.json.encode(problem) + b"\n")


def digest(value: Any) -> str:
    """SHA-256 (hex) of a JSON value in canonical form: sorted keys, UTF-8, no spaces."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
