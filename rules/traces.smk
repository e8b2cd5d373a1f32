rule simulate_snapshot:
    input:
        problems="data/environment/problems.jsonl",
        index="data/environment/index",
    output:
        traces="data/raw/{snapshot}.traces",
    log:
        "logs/simulate_snapshot/{snapshot}.log",
    wildcard_constraints:
        snapshot=PROJECT.simulated,
    params:
        section=["snapshots.{snapshot}", "arena.miners"],
    shell:
        JOB


rule fetch_snapshot:
    input:
        source=lambda wildcards: PROJECT.source_file(wildcards.snapshot),
    output:
        traces="data/raw/{snapshot}.traces",
    log:
        "logs/fetch_snapshot/{snapshot}.log",
    wildcard_constraints:
        snapshot=PROJECT.fetched,
    params:
        section=["snapshots.{snapshot}", "traces.fetch"],
    shell:
        JOB


rule normalise_traces:
    input:
        raw="data/raw/{snapshot}.traces",
    output:
        trajectories="data/traces/{snapshot}/trajectories.parquet",
        rejects="data/traces/{snapshot}/rejects.parquet",
        problems="data/traces/{snapshot}/problems.parquet",
        summary="data/traces/{snapshot}/summary.json",
    log:
        "logs/normalise_traces/{snapshot}.log",
    params:
        section="traces.normalise",
    shell:
        JOB


rule score_traces:
    input:
        trajectories="data/traces/{snapshot}/trajectories.parquet",
        problems="data/environment/problems.jsonl",
        index="data/environment/index",
    output:
        scores="data/traces/{snapshot}/scores.parquet",
    log:
        "logs/score_traces/{snapshot}.log",
    params:
        section="environment.scorer",
    shell:
        JOB
