rule render_report:
    input:
        traces=expand("data/traces/{snapshot}/summary.json", snapshot=PROJECT.snapshots),
        filtered=expand("data/corpus/{snapshot}/summary.json", snapshot=PROJECT.snapshots),
        corpus="data/corpus/corpus.parquet",
        corpus_summary="data/corpus/summary.json",
        drift="data/corpus/drift.json",
        nodes="data/leakage/nodes.parquet",
        edges="data/leakage/edges.parquet",
        clusters="data/leakage/clusters.json",
        shares="data/leakage/shares.json",
        audit="data/leakage/audit.json",
        models=expand("data/models/{stage}", stage=["base", *PROJECT.chain]),
        curves=expand("data/training/{stage}/plot_curve.csv", stage=PROJECT.chain),
        masks=expand("data/training/{stage}/masks.json", stage=PROJECT.chain),
        rollouts=expand("data/training/{stage}/rollouts.json", stage=PROJECT.rolled_out),
        evaluations=expand("data/evaluation/{checkpoint}/summary.json", checkpoint=PROJECT.checkpoints),
        episodes=expand("data/evaluation/{checkpoint}/episodes.jsonl.zst", checkpoint=PROJECT.checkpoints),
        lm=expand("data/evaluation/{checkpoint}/lm_eval.json", checkpoint=["base", *PROJECT.chain]),
        artifacts=[
            "data/environment/catalog.jsonl.zst",
            "data/environment/problems.jsonl",
            "data/environment/index",
            *expand("data/raw/{snapshot}.traces", snapshot=PROJECT.snapshots),
            *expand("data/traces/{snapshot}/trajectories.parquet", snapshot=PROJECT.snapshots),
            *expand("data/corpus/{snapshot}/kept.parquet", snapshot=PROJECT.snapshots),
            "data/corpus/corpus.parquet",
            "data/leakage/nodes.parquet",
            "data/leakage/pools.parquet",
            *expand("data/training/{stage}/rows.parquet", stage=PROJECT.chain),
            *expand("data/models/{stage}", stage=["base", *PROJECT.chain]),
            *expand("data/evaluation/{checkpoint}/episodes.jsonl.zst", checkpoint=PROJECT.checkpoints),
        ],
        versions="versions.txt",
    output:
        report=report("data/report/report.html", category="Report"),
        metrics="data/report/metrics.json",
    log:
        "logs/render_report.log",
    localrule: True
    params:
        section="report",
    shell:
        JOB
