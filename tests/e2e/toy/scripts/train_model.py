"""Train: a folder with a model and a state, and a curve.

python scripts/train_model.py
"""

import hashlib
import os
import time
from pathlib import Path

from tracemill.toy.params import TrainingParams

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    params = stage.params("toy.training", TrainingParams)
    model = stage.output("model")
    model.mkdir()
    corpus = stage.input("corpus").read_bytes()
    (model / "weights.txt").write_text(hashlib.sha256(corpus + repr(params.learning_rate).encode()).hexdigest())
    pause = Path("pause")
    if pause.exists():  # a drill holds the stage between its two files
        Path("paused").write_text(str(os.getpid()))
        while pause.exists():
            time.sleep(0.02)
    (model / "state.txt").write_text(f"{params.steps}\n")
    rows = [f"{step},{1 / (step + 1):.3f}" for step in range(params.steps)]
    stage.output("plot_curve").write_text("\n".join(["step,loss", *rows]) + "\n")


if __name__ == "__main__":
    run(main)
