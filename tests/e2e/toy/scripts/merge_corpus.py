"""Merge all snapshots.

python scripts/merge_corpus.py
"""

from tracemill.toy.merge import merge
from tracemill.toy.params import MergeParams

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    params = stage.params("toy.merge", MergeParams)
    lines = merge([path.read_text().splitlines() for path in stage.inputs("kept")], params.header)
    stage.output("corpus").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    run(main)
