from tracemill.build.declare import Declaration, stamp_pattern


def stage(rule: str, **wildcards: str) -> Declaration:
    return Declaration(rule, wildcards, {"a": ["x", "y"], "b": []}, {"out": "z"}, [], [], "")


def test_a_snapshots_stage_lives_in_a_file_of_its_own():
    one = stage("clean", snapshot="sim-a")
    assert one.file == "snapshots/sim-a/dvc.yaml"
    assert one.address == "snapshots/sim-a/dvc.yaml:clean"
    assert one.stamp == ".snakemake/stages/snapshots/sim-a/clean"
    assert one.command == "python -m tracemill.build.run scripts/clean.py --snapshot sim-a"


def test_other_wildcards_are_part_of_the_name():
    one = stage("train_sft", stage="sft")
    assert (one.file, one.address) == ("dvc.yaml", "train_sft-sft")
    assert one.stamp == ".snakemake/stages/train_sft-sft"
    assert one.command == "python -m tracemill.build.run scripts/train_sft.py --stage sft"


def test_a_stamp_pattern_filled_in_is_the_stages_stamp():
    for one in (stage("merge"), stage("clean", snapshot="a"), stage("train", stage="s")):
        assert stamp_pattern(one.rule, set(one.wildcards)).format(**one.wildcards) == one.stamp


def test_inputs_keep_the_order_of_the_rule():
    assert stage("merge").input_files == ["x", "y"]
