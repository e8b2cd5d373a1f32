"""Fail the build, with the evidence, when anything of a held-out pool could reach training.

python scripts/audit_leaks.py
"""

from tracemill.leakage.audit import audit_leaks
from tracemill.leakage.params import AuditParams, SimilarityParams
from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the audit's report and the gate file that the guarded stages depend on."""
    audit_leaks(
        stage.input("nodes"),
        stage.input("edges"),
        stage.input("pools"),
        stage.input("corpus"),
        stage.input("ledger"),
        report_path=stage.output("audit"),
        passed_path=stage.output("passed"),
        params=stage.params("leakage.audit", AuditParams),
        similarity=stage.params("leakage.similarity", SimilarityParams),
    )


if __name__ == "__main__":
    run(main)
