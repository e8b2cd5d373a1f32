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
