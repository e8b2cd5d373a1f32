rule build_base:
    input:
        catalog="data/environment/catalog.jsonl.zst",
    output:
        model=directory("data/models/base"),
    log:
        "logs/build_base.log",
    params:
        section=["training.base", "training.runtime"],
    shell:
        JOB


rule render_rows:
    input:
        corpus="data/corpus/corpus.parquet",
        pools="data/leakage/pools.parquet",
        audited="data/leakage/passed",
        parent=lambda wildcards: f"data/models/{PROJECT.parent(wildcards.stage)}",
        episodes=lambda wildcards: PROJECT.episodes_of(wildcards.stage),
    output:
        rows="data/training/{stage}/rows.parquet",
        masks="data/training/{stage}/masks.json",
        passed="data/training/{stage}/passed",
    log:
        "logs/render_rows/{stage}.log",
    params:
        section=[
            "training.rows",
            "training.stages.{stage}.kind",
            "training.stages.{stage}.rows",
            "environment.episode",
            "environment.observation",
            "environment.prompt",
        ],
    shell:
        JOB


rule train_sft:
    input:
        parent=lambda wildcards: f"data/models/{PROJECT.parent(wildcards.stage)}",
        rows="data/training/{stage}/rows.parquet",
        passed="data/training/{stage}/passed",
    output:
        model=directory("data/models/{stage}"),
        plot="data/training/{stage}/plot_curve.csv",
    log:
        "logs/train_sft/{stage}.log",
    wildcard_constraints:
        stage=PROJECT.of_kind("sft", "rejection", "teacher_sft"),
    threads: 1
    resources:
        gpu=1,
        mem_mb=8000,
    params:
        section=["training.stages.{stage}.train", "training.runtime"],
        launch="accelerate launch",
        axes=["step", "loss"],
    shell:
        JOB


rule play_rollouts:
    input:
        problems="data/environment/problems.jsonl",
        pools="data/leakage/pools.parquet",
        audited="data/leakage/passed",
        index="data/environment/index",
        parent=lambda wildcards: f"data/models/{PROJECT.parent(wildcards.stage)}",
    output:
        episodes="data/training/{stage}/rollouts.jsonl.zst",
        summary="data/training/{stage}/rollouts.json",
    log:
        "logs/play_rollouts/{stage}.log",
    wildcard_constraints:
        stage=PROJECT.of_kind("rejection", "kto"),
    priority: 1  # training waits for it
    threads: 2
    resources:
        gpu=1,
        mem_mb=8000,
    params:
        section=[
            "training.stages.{stage}.rollouts",
            "environment.episode",
            "environment.observation",
            "environment.prompt",
            "environment.scorer",
        ],
    shell:
        JOB


rule play_teacher:
    input:
        problems="data/environment/problems.jsonl",
        pools="data/leakage/pools.parquet",
        audited="data/leakage/passed",
        index="data/environment/index",
    output:
        episodes="data/training/{stage}/teacher.jsonl.zst",
        summary="data/training/{stage}/teacher.json",
    log:
        "logs/play_teacher/{stage}.log",
    wildcard_constraints:
        stage=PROJECT.of_kind("teacher_sft", "dr_grpo"),
    threads: 1
    resources:
        gpu=1,
        mem_mb=8000,
    params:
        section=[
            "training.stages.{stage}.teacher",
            "environment.episode",
            "environment.observation",
            "environment.prompt",
            "environment.scorer",
        ],
    shell:
        JOB


rule train_kto:
    input:
        parent=lambda wildcards: f"data/models/{PROJECT.parent(wildcards.stage)}",
        rows="data/training/{stage}/rows.parquet",
        passed="data/training/{stage}/passed",
    output:
        model=directory("data/models/{stage}"),
        plot="data/training/{stage}/plot_curve.csv",
    log:
        "logs/train_kto/{stage}.log",
    wildcard_constraints:
        stage=PROJECT.of_kind("kto"),
    threads: 1
    resources:
        gpu=1,
        mem_mb=8000,
    params:
        section=[
            "training.stages.{stage}.train",
            "training.stages.{stage}.kto",
            "training.runtime",
        ],
        launch="accelerate launch",
        axes=["step", "loss"],
    shell:
        JOB


rule train_dr_grpo:
    input:
        parent=lambda wildcards: f"data/models/{PROJECT.parent(wildcards.stage)}",
        rows="data/training/{stage}/rows.parquet",
        passed="data/training/{stage}/passed",
        teacher="data/training/{stage}/teacher.jsonl.zst",
        index="data/environment/index",
    output:
        model=directory("data/models/{stage}"),
        plot="data/training/{stage}/plot_curve.csv",
    log:
        "logs/train_dr_grpo/{stage}.log",
    wildcard_constraints:
        stage=PROJECT.of_kind("dr_grpo"),
    threads: 1
    resources:
        gpu=1,
        mem_mb=8000,
    params:
        section=[
            "training.stages.{stage}.train",
            "training.stages.{stage}.grpo",
            "training.runtime",
            "environment.episode",
            "environment.observation",
            "environment.prompt",
            "environment.scorer",
        ],
        launch="accelerate launch",
        axes=["step", "reward"],
    shell:
        JOB
