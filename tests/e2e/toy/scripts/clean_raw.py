"""Keep the good lines of a snapshot.

python scripts/clean_raw.py --snapshot sim-a
"""

import json

from tracemill.toy.clean import keep
from tracemill.toy.params import CleanParams

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    params = stage.params("toy.clean", CleanParams)
    lines = stage.input("raw").read_text().splitlines()
    kept = keep(lines, params.minimum)
    stage.output("kept").write_text("\n".join(kept) + "\n")
    stage.output("summary").write_text(json.dumps({"in": len(lines), "kept": len(kept)}))


if __name__ == "__main__":
    run(main)
