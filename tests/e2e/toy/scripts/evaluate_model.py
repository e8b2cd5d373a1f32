"""Evaluate the model.

python scripts/evaluate_model.py
"""

import json

from tracemill.toy.params import EvaluationParams

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    params = stage.params("toy.evaluation", EvaluationParams)
    weights = (stage.input("model") / "weights.txt").read_text()
    stage.output("metrics").write_text(json.dumps({"success": int(weights[:4], 16) / 65535, "n": params.samples}))


if __name__ == "__main__":
    run(main)
