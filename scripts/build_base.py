"""Make the base model: build it here, or fetch it at its pinned revision.

python scripts/build_base.py
"""

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the base checkpoint."""
    from tracemill.training.base import build_base
    from tracemill.training.params import BaseParams, RuntimeParams

    threads = stage.params("training.runtime", RuntimeParams).cpu_threads
    build_base(stage.params("training.base", BaseParams), stage.input("catalog"), stage.output("model"), threads)


if __name__ == "__main__":
    run(main)
