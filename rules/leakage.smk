rule cluster_leaks:
    input:
        problems=expand("data/traces/{snapshot}/problems.parquet", snapshot=PROJECT.snapshots),
        environment="data/environment/problems.jsonl",
        protected=PROJECT.files["protected"],
    output:
        nodes="data/leakage/nodes.parquet",
        edges="data/leakage/edges.parquet",
        clusters="data/leakage/clusters.json",
    log:
        "logs/cluster_leaks.log",
    params:
        section=["leakage.similarity", "leakage.protected"],
    shell:
        JOB


rule split_pools:
    input:
        nodes="data/leakage/nodes.parquet",
        corpus="data/corpus/corpus.parquet",
        ledger="data/ledger/held_out.jsonl",
    output:
        pools="data/leakage/pools.parquet",
        shares="data/leakage/shares.json",
    log:
        "logs/split_pools.log",
    localrule: True
    params:
        section=["leakage.pools", "leakage.similarity"],
    shell:
        JOB


rule audit_leaks:
    input:
        nodes="data/leakage/nodes.parquet",
        edges="data/leakage/edges.parquet",
        pools="data/leakage/pools.parquet",
        corpus="data/corpus/corpus.parquet",
        ledger="data/ledger/held_out.jsonl",
    output:
        audit="data/leakage/audit.json",
        passed="data/leakage/passed",
    log:
        "logs/audit_leaks.log",
    localrule: True
    params:
        section=["leakage.audit", "leakage.similarity"],
    shell:
        JOB
