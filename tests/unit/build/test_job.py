"""The one line that a failed stage leaves on the terminal."""

import pytest

from tracemill.build.job import _cause

DVC = "ERROR: failed to reproduce 'train': failed to run: python -m tracemill.build.run scripts/train.py, exited with 1"
TRACE = """\
Traceback (most recent call last):
  File "scripts/train.py", line 17, in <module>
    run(main)
ValueError: two columns
"""
LAUNCHER = """\
Traceback (most recent call last):
  File "launch.py", line 9, in simple_launcher
    raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)
subprocess.CalledProcessError: Command 'train.py' returned non-zero exit status 1.
"""


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (TRACE, "ValueError: two columns"),
        (TRACE + LAUNCHER, "ValueError: two columns"),
        ("INFO: reading\ntracemill: raw:3: no JSON\n" + TRACE, "raw:3: no JSON"),
        ("Killed\n", DVC),
    ],
    ids=["exception", "launched", "expected", "killed"],
)
def test_a_failed_stage_says_what_went_wrong_rather_than_that_it_failed(tmp_path, said, cause):
    log = tmp_path / "train.log"
    log.write_text(f"Running stage 'train':\n{said}{DVC}\n")
    assert _cause("train", str(log)) == cause
