"""lm-eval's own command line with the model `tracemill` registered and our tasks on its path.

python -m tracemill.evaluation.lm_eval_main run --model tracemill --model_args pretrained=data/models/sft \\
    --tasks tracemill_episode
"""

from __future__ import annotations

import sys
from importlib.resources import files


def main() -> None:
    """Run lm-eval; `--include_path` is added where it is not given."""
    import lm_eval.models
    from lm_eval.__main__ import cli_evaluate

    import tracemill.evaluation.lm_wrapper  # noqa: F401 (registers the model)

    assert lm_eval.models.MODEL_MAPPING
    if "--include_path" not in sys.argv and any(a in sys.argv for a in ("--tasks", "tasks")):
        sys.argv += ["--include_path", str(files("tracemill.evaluation") / "lm_eval_tasks")]
    cli_evaluate()


if __name__ == "__main__":
    main()
