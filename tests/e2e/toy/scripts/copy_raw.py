"""Copy a snapshot from a file.

python scripts/copy_raw.py --snapshot file-a
"""

import shutil

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    shutil.copyfile(stage.input("source"), stage.output("raw"))


if __name__ == "__main__":
    run(main)
