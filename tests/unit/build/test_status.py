from tracemill.build.status import _changes, holders


def test_changed_values_are_told_key_by_key():
    before = {"rate": 1e-05, "steps": 3, "old": 1}
    after = {"rate": 0.5, "steps": 3, "new": [1]}
    assert list(_changes("training", before, after)) == [
        "training.rate: 1e-05 -> 0.5",
        "training.old: 1 -> (none)",
        "training.new: (none) -> [1]",
    ]


def test_dvcs_lock_error_becomes_one_line():
    error = "'/p/data' is busy, it is being blocked by:\n  (PID 12): dvc repro\n\nIf there are no such PIDs"
    assert holders(error) == "process 12 (dvc repro)"
