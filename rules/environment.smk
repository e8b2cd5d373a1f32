rule build_catalog:
    input:
        source=PROJECT.files["catalog"],
    output:
        catalog="data/environment/catalog.jsonl.zst",
    log:
        "logs/build_catalog.log",
    localrule: True
    params:
        section=["environment.catalog", "arena.catalog"],
    shell:
        JOB


rule build_problems:
    input:
        catalog="data/environment/catalog.jsonl.zst",
        source=PROJECT.files["problems"],
    output:
        problems="data/environment/problems.jsonl",
    log:
        "logs/build_problems.log",
    localrule: True
    params:
        section=["environment.problems", "arena.problems"],
    shell:
        JOB


rule index_catalog:
    input:
        catalog="data/environment/catalog.jsonl.zst",
    output:
        index=directory("data/environment/index"),
    log:
        "logs/index_catalog.log",
    params:
        section="environment.index",
    shell:
        JOB
