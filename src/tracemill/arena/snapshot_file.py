"""Writes a simulated snapshot as SN15's validators publish theirs: envelopes, one a line, zstd."""

from __future__ import annotations

import logging
from pathlib import Path

from tracemill.arena.files import write_zstd_lines
from tracemill.arena.params import MinerParams
from tracemill.arena.simulate import simulate, write_lines
from tracemill.environment.index import open_index
from tracemill.environment.problem import read_problems
from tracemill.errors import InputError
from tracemill.snapshots import SnapshotParams

log = logging.getLogger(__name__)


def write_snapshot(
    name: str, snapshot: SnapshotParams, problems: Path, index: Path, params: MinerParams, out: Path
) -> None:
    """Simulate snapshot `name` over the problems and the index, and write its lines.

    Raises InputError when the snapshot has no seed or no number of episodes.
    """
    if snapshot.episodes is None or snapshot.seed is None:
        raise InputError(f"snapshots.{name}: a sim: source needs `seed` and `episodes`, e.g. seed: 1, episodes: 600")
    played = simulate(list(read_problems(problems)), open_index(index), params, snapshot.seed, snapshot.episodes)
    write_zstd_lines(write_lines(played, params, snapshot.episodes), out)
    log.info("%s: %d episodes", name, snapshot.episodes)
