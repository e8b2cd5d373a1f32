rule filter_traces:
    input:
        trajectories="data/traces/{snapshot}/trajectories.parquet",
        scores="data/traces/{snapshot}/scores.parquet",
    output:
        kept="data/corpus/{snapshot}/kept.parquet",
        dropped="data/corpus/{snapshot}/dropped.parquet",
        summary="data/corpus/{snapshot}/summary.json",
    log:
        "logs/filter_traces/{snapshot}.log",
    params:
        section=["corpus.gates", "corpus.axis"],
    shell:
        JOB


rule assemble_corpus:
    input:
        kept=expand("data/corpus/{snapshot}/kept.parquet", snapshot=PROJECT.snapshots),
        trajectories=expand("data/traces/{snapshot}/trajectories.parquet", snapshot=PROJECT.snapshots),
    output:
        corpus="data/corpus/corpus.parquet",
        table="data/corpus/table.parquet",
        summary="data/corpus/summary.json",
    log:
        "logs/assemble_corpus.log",
    params:
        section=["corpus.axis", "corpus.dedup", "corpus.ranking"],
    shell:
        JOB


rule measure_drift:
    input:
        traces=expand("data/traces/{snapshot}/summary.json", snapshot=PROJECT.snapshots),
        problems=expand("data/traces/{snapshot}/problems.parquet", snapshot=PROJECT.snapshots),
        kept=expand("data/corpus/{snapshot}/kept.parquet", snapshot=PROJECT.snapshots),
        dropped=expand("data/corpus/{snapshot}/dropped.parquet", snapshot=PROJECT.snapshots),
        nodes="data/leakage/nodes.parquet",
        edges="data/leakage/edges.parquet",
    output:
        drift="data/corpus/drift.json",
        plot="data/corpus/plot_drift.csv",
    log:
        "logs/measure_drift.log",
    localrule: True
    params:
        axes=["snapshot", "kept"],
    shell:
        JOB
