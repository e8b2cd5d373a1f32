rule write_raw:
    output:
        raw="data/raw/{snapshot}.txt",
    log:
        "logs/write_raw/{snapshot}.log",
    wildcard_constraints:
        snapshot=PROJECT.simulated,
    params:
        section="snapshots.{snapshot}",
    shell:
        JOB


rule copy_raw:
    input:
        source=lambda wildcards: PROJECT.source_file(wildcards.snapshot),
    output:
        raw="data/raw/{snapshot}.txt",
    log:
        "logs/copy_raw/{snapshot}.log",
    wildcard_constraints:
        snapshot=PROJECT.fetched,
    params:
        section="snapshots.{snapshot}",
    shell:
        JOB


rule clean_raw:
    input:
        raw="data/raw/{snapshot}.txt",
    output:
        kept="data/clean/{snapshot}.txt",
        summary="data/clean/{snapshot}.json",
    log:
        "logs/clean_raw/{snapshot}.log",
    params:
        section="toy.clean",
    shell:
        JOB


rule merge_corpus:
    input:
        kept=expand("data/clean/{snapshot}.txt", snapshot=PROJECT.snapshots),
    output:
        corpus="data/corpus.txt",
    log:
        "logs/merge_corpus.log",
    params:
        section="toy.merge",
    shell:
        JOB


rule train_model:
    input:
        corpus="data/corpus.txt",
    output:
        model=directory("data/models/sft"),
        plot_curve="data/curve.csv",
    log:
        "logs/train_model.log",
    params:
        section="toy.training",
        axes=["step", "loss"],
    shell:
        JOB


rule evaluate_model:
    input:
        model="data/models/sft",
    output:
        metrics="data/metrics.json",
    log:
        "logs/evaluate_model.log",
    params:
        section="toy.evaluation",
    shell:
        JOB
