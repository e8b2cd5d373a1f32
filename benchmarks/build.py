"""What the engine costs: a no-op build against `dvc status` and a bare Snakemake of the same graph, and DVC per stage.

    python benchmarks/build.py [--snapshots 10 100 365] [--repeat 3]

Each size is a project of trivial stages, two for each snapshot and three global ones. `dvc repro` builds it in one
process, with a stub for the supervisor, so that the time is DVC's own; `job` is one of Snakemake's jobs, which is a
process. Figures of single commands are medians.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from toy_project import Project, make_toy  # noqa: E402

BARE = """
SNAPSHOTS = {names}

rule all:
    input: "out/report"

rule raw:
    output: "out/{{s}}/raw"
    shell: "touch {{output}}"

rule clean:
    input: "out/{{s}}/raw"
    output: "out/{{s}}/clean", "out/{{s}}/summary"
    shell: "touch {{output}}"

rule merge:
    input: expand("out/{{s}}/clean", s=SNAPSHOTS)
    output: "out/merged"
    shell: "touch {{output}}"

rule train:
    input: "out/merged"
    output: "out/model"
    shell: "touch {{output}}"

rule report:
    input: "out/model"
    output: "out/report"
    shell: "touch {{output}}"
"""


def main() -> None:
    """Print a table of medians and ratios, then the same as one JSON line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--snapshots", type=int, nargs="+", default=[10, 100, 365])
    options.add_argument("--repeat", type=int, default=3)
    chosen = options.parse_args()
    rows = [measure(number, chosen.repeat) for number in chosen.snapshots]
    print("snapshots   no-op  dvc status   bare  ratio  per stage  one changed    job")
    for row in rows:
        print(
            f"{row['snapshots']:>9} {row['no_op']:>7.2f} {row['dvc_status']:>11.2f} {row['bare_snakemake']:>6.2f} "
            f"{row['ratio']:>6.2f} {row['dvc_per_stage']:>10.3f} {row['dvc_per_changed_stage']:>12.3f} "
            f"{row['job']:>6.2f}"
        )
    print(json.dumps(rows))


def measure(number: int, repeat: int) -> dict[str, float]:
    """One size; seconds. `ratio` is no-op / (dvc status + Snakemake's own start-up of an empty workflow)."""
    with tempfile.TemporaryDirectory(prefix="tracemill-bench-") as folder:
        project = prepared(Path(folder, "project"), number)
        stages = 2 * number + 3
        first = timed(project, "dvc", "repro", "--quiet")
        project.snakemake()
        bare = Path(folder, "bare")
        bare.mkdir()
        names = [f"s{position:03d}" for position in range(number)]
        (bare / "Snakefile").write_text(BARE.format(names=names))
        other = Project(bare)
        other.run("snakemake", "--cores", "2", "--quiet", "all")
        (bare / "empty").write_text("rule all:\n    input: []\n")
        figures = {
            "no_op": median(repeat, project, "snakemake", "--cores", "2", "--quiet", "all"),
            "dvc_status": median(repeat, project, "dvc", "status", "--quiet"),
            "bare_snakemake": median(repeat, other, "snakemake", "--cores", "2", "--quiet", "all"),
            "empty_snakemake": median(repeat, other, "snakemake", "-s", "empty", "--cores", "2", "--quiet", "all"),
        }
        project.edit("params.yaml", "minimum: 2", "minimum: 3")
        jobs = [timed(project, *job(f"snapshots/{name}/clean_raw")) for name in names[:5]]
        changed = timed(project, "dvc", "repro", "--quiet")
    ran = number + 3
    ratio = figures["no_op"] / (figures["dvc_status"] + figures["empty_snakemake"])
    return {
        "snapshots": number,
        **figures,
        "ratio": ratio,
        "dvc_per_stage": first / stages,
        "dvc_per_changed_stage": changed / (ran - len(jobs)),
        "job": statistics.median(jobs),
    }


def job(stamp: str) -> list[str]:
    """The command of one Snakemake job: a process that looks its stage up and runs it."""
    return [sys.executable, "-m", "tracemill.build.job", f".snakemake/stages/{stamp}", "logs/job.log"]


def prepared(folder: Path, number: int) -> Project:
    """The toy with `number` snapshots; the supervisor is replaced by a stub."""
    folder.mkdir()
    project = make_toy(folder)
    text = project.path("params.yaml").read_text()
    lines = [f'  s{position:03d}: {{source: "sim:", seed: {position}, episodes: 5}}' for position in range(number)]
    project.path("params.yaml").write_text("\n".join(["snapshots:", *lines, text[text.index("\ntoy:") :]]))
    shutil.copyfile(ROOT / "benchmarks" / "build_stub.py", folder / "src/tracemill/build/run.py")
    project.sync()
    project.commit("many snapshots")
    return project


def timed(project: Project, *command: str) -> float:
    """Seconds that a command takes."""
    began = time.perf_counter()
    subprocess.run(command, cwd=project.folder, env=project.environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def median(repeat: int, project: Project, *command: str) -> float:
    """Median of `repeat` runs after one that warms the caches."""
    timed(project, *command)
    return statistics.median(timed(project, *command) for _ in range(repeat))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
