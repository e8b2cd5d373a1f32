import pytest

from tracemill.errors import StageError
from tracemill.training.launch import ACCELERATE_CONFIG, check_world, split_batch


@pytest.mark.parametrize(
    ("batch", "device", "world", "expected"),
    [(16, 16, 1, (16, 1)), (16, 16, 2, (8, 1)), (16, 4, 2, (4, 2)), (12, 5, 1, (4, 3)), (7, 4, 1, (1, 7))],
)
def test_the_global_batch_is_kept_whatever_the_world(batch, device, world, expected):
    rows, steps = split_batch(batch, device, world)
    assert (rows, steps) == expected
    assert rows * steps * world == batch


def test_a_batch_that_the_processes_cannot_share_is_refused():
    with pytest.raises(StageError, match="multiple of 2"):
        split_batch(7, 4, 2)


def test_fewer_processes_than_the_file_asks_for_are_refused(tmp_path):
    config = tmp_path / "two.yaml"
    config.write_text("distributed_type: MULTI_CPU\nnum_processes: 2\n", encoding="utf-8")
    with pytest.raises(StageError, match="asks for 2 processes, 1 run"):
        check_world({ACCELERATE_CONFIG: str(config)})
    assert check_world({ACCELERATE_CONFIG: str(config), "WORLD_SIZE": "2"}) == 2


def test_an_undistributed_file_asks_for_one_process(tmp_path):
    config = tmp_path / "one.yaml"
    config.write_text('distributed_type: "NO"\nnum_processes: 4\n', encoding="utf-8")
    assert check_world({ACCELERATE_CONFIG: str(config)}) == 1
