import pytest

from tracemill.training.resume import is_complete, last_complete, mark_complete, remove_incomplete


def state(folder, step, files=("model.safetensors", "optimizer.pt")):
    path = folder / f"checkpoint-{step}"
    path.mkdir(parents=True)
    for name in files:
        (path / name).write_bytes(b"x" * step)
    return path


def test_the_latest_marked_state_is_picked(tmp_path):
    for step in (20, 40):
        mark_complete(state(tmp_path, step), "c")
    assert last_complete(tmp_path, "c").name == "checkpoint-40"


def test_a_state_that_was_killed_between_model_and_optimizer_is_never_picked(tmp_path):
    mark_complete(state(tmp_path, 20), "c")
    state(tmp_path, 40, files=("model.safetensors",))
    assert last_complete(tmp_path, "c").name == "checkpoint-20"


@pytest.mark.parametrize("damage", ["cut", "removed", "marker"])
def test_a_damaged_state_is_never_picked(tmp_path, damage):
    path = state(tmp_path, 20)
    mark_complete(path, "c")
    if damage == "cut":
        (path / "optimizer.pt").write_bytes(b"x")
    elif damage == "removed":
        (path / "optimizer.pt").unlink()
    else:
        (path / "tracemill.json").write_text("{", encoding="utf-8")
    assert not is_complete(path, "c")
    assert last_complete(tmp_path, "c") is None


def test_a_state_of_another_configuration_is_never_picked_and_is_removed(tmp_path):
    path = state(tmp_path, 20)
    mark_complete(path, "other")
    assert last_complete(tmp_path, "c") is None
    remove_incomplete(tmp_path, "c")
    assert not path.exists()


def test_no_folder_means_no_state(tmp_path):
    assert last_complete(tmp_path / "none", "c") is None
