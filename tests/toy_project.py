"""A small project built once by the real engines, and a copy of it for each test.

The project uses the Snakefile, profile and engine of this repository with trivial stages (`toy/`): a row about the
engine costs seconds. `ran()` counts from the journal which stages really worked, whoever started them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOY = ROOT / "tests/e2e/toy"
BIN = Path(sys.executable).parent
NOTHING = "Nothing to be done"


@dataclass
class Project:
    """A project folder and the commands that users type in it."""

    folder: Path
    seen: int = 0

    @property
    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "DVC_", "TRACEMILL_"))}
        kept.pop("PYTHONPATH", None)
        names = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_NAME": "t"}
        return {**kept, **names, "GIT_COMMITTER_EMAIL": "t@example.org", "PATH": f"{BIN}:{os.environ['PATH']}"}

    def start(self, *command: str, **options) -> subprocess.Popen:
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **options,
        )

    def run(self, *command: str, expect: int | None = 0) -> str:
        with self.start(*command) as process:
            try:
                output, _ = process.communicate(timeout=2700)
            finally:
                process.kill()
        if expect is not None:
            assert process.returncode == expect, f"{command} ended with {process.returncode}:\n{output}"
        return output

    def snakemake(self, *arguments: str, expect: int | None = 0) -> str:
        return self.run("snakemake", "--cores", "2", *arguments, expect=expect)

    def dvc(self, *arguments: str, expect: int | None = 0) -> str:
        return self.run("dvc", *arguments, expect=expect)

    def git(self, *arguments: str) -> str:
        return self.run("git", *arguments)

    def build(self, engine: str, expect: int | None = 0) -> str:
        return self.snakemake(expect=expect) if engine == "snakemake" else self.dvc("repro", expect=expect)

    def tracemill(self, *arguments: str, expect: int | None = 0) -> str:
        return self.run("tracemill", *arguments, expect=expect)

    def sync(self) -> str:
        return self.tracemill("sync")

    def commit(self, message: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD").strip()

    def path(self, name: str) -> Path:
        return self.folder / name

    def edit(self, name: str, old: str, new: str) -> None:
        text = self.path(name).read_text()
        assert old in text, f"{name} does not contain {old!r}"
        self.path(name).write_text(text.replace(old, new))

    def when_queue_is_done(self, experiments: int, seconds: int = 900) -> str:
        """Wait for queued experiments; returns DVC's table of all experiments."""
        status = ""
        for _ in range(seconds):
            status = self.dvc("queue", "status")
            if status.count("Success") == experiments:
                return self.dvc("exp", "show", "--csv")
            assert "Failed" not in status, self.dvc("queue", "logs", status.split()[5])
            time.sleep(1)
        raise AssertionError(f"the queue did not finish:\n{status}")

    def journal(self) -> list[dict]:
        log = self.path("logs/builds.jsonl")
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def ran(self) -> list[str]:
        """Stages that worked since the last call, sorted by address (short: without the DVC file's name)."""
        entries = self.journal()
        fresh, self.seen = entries[self.seen :], len(entries)
        return sorted(short(entry["stage"]) for entry in fresh if entry["event"] == "stage")

    def planned(self) -> tuple[list[str], str]:
        """Rules that a dry run would execute, and what it prints."""
        output = self.snakemake("--dry-run")
        table = re.findall(r"^([a-z_]+) +\d+$", output, flags=re.MULTILINE)
        return sorted(set(table) - {"all", "total"}), output

    def artifacts(self) -> dict[str, bytes]:
        data = self.path("data")
        files = sorted(path for path in data.rglob("*") if path.is_file() and path.name != ".snakemake_timestamp")
        return {str(path.relative_to(data)): path.read_bytes() for path in files}


def short(address: str) -> str:
    """`snapshots/sim-a/dvc.yaml:clean_raw` as `clean_raw sim-a`."""
    file, _, name = address.rpartition(":")
    return f"{name} {file.split('/')[1]}" if file else name


def copy_of(project: Project, folder: Path) -> Project:
    """A copy in another folder; what ran before the copy does not count."""
    shutil.copytree(project.folder, folder, symlinks=True)
    copy = Project(folder)
    copy.ran()
    return copy


def make_toy(folder: Path) -> Project:
    """The toy project, synced and committed, nothing built."""
    for name in ("Snakefile", "profiles", ".dvcignore", ".gitignore"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, folder / name)
    (folder / ".dvc").mkdir()
    for name in ("config", ".gitignore"):
        shutil.copy2(ROOT / ".dvc" / name, folder / ".dvc" / name)
    package = folder / "src/tracemill"
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src/tracemill/build", package / "build", ignore=unwanted)
    for module in (ROOT / "src/tracemill").glob("*.py"):
        shutil.copy2(module, package / module.name)
    shutil.copytree(TOY, folder, dirs_exist_ok=True, ignore=unwanted)
    (folder / "README.md").write_text("A toy.\n")
    project = Project(folder)
    project.git("init", "--quiet", "--initial-branch=main")
    project.sync()
    project.commit("the toy")
    return project
