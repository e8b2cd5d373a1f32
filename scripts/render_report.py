"""Write the report page from all artifacts.

python scripts/render_report.py
"""

from pathlib import Path

from tracemill.report.build import Inputs, build_report
from tracemill.report.params import ReportParams
from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the page and its flat metrics."""
    inputs = Inputs(
        traces=stage.inputs("traces"),
        filtered=stage.inputs("filtered"),
        corpus=stage.input("corpus"),
        corpus_summary=stage.input("corpus_summary"),
        drift=stage.input("drift"),
        nodes=stage.input("nodes"),
        edges=stage.input("edges"),
        clusters=stage.input("clusters"),
        shares=stage.input("shares"),
        audit=stage.input("audit"),
        models=stage.inputs("models"),
        curves=stage.inputs("curves"),
        masks=stage.inputs("masks"),
        rollouts=stage.inputs("rollouts"),
        evaluations=stage.inputs("evaluations"),
        episodes=stage.inputs("episodes"),
        lm=stage.inputs("lm"),
        artifacts=stage.inputs("artifacts"),
        locks=[Path("dvc.lock"), *sorted(Path("snapshots").glob("*/dvc.lock"))],
        versions=stage.input("versions"),
    )
    build_report(inputs, stage.output("report"), stage.output("metrics"), stage.params("report", ReportParams))


if __name__ == "__main__":
    run(main)
