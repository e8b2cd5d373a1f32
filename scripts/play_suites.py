"""Let one checkpoint (or the scripted expert) play the evaluation suites.

python scripts/play_suites.py --checkpoint sft
"""

from tracemill.evaluation.evaluate import Inputs, play_checkpoint, stage_settings
from tracemill.evaluation.params import SuiteParams
from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the episodes, and what they are about."""
    name, settings = stage.wildcards["checkpoint"], stage_settings(stage)
    play_checkpoint(
        name,
        Inputs(
            model=None if name == "expert" else stage.input("model"),
            problems=stage.input("problems"),
            protected=stage.inputs("protected"),
            pools=stage.input("pools"),
            index=stage.input("index"),
        ),
        stage.output("episodes"),
        stage.output("played"),
        stage.params("evaluation.suites", SuiteParams),
        settings.as_expert() if name == "expert" else settings,
        stage.work,
    )


if __name__ == "__main__":
    run(main)
