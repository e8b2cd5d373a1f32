rule play_suites:
    input:
        model=lambda wildcards: PROJECT.model_of(wildcards.checkpoint),
        problems="data/environment/problems.jsonl",
        protected=PROJECT.files["protected"],
        pools="data/leakage/pools.parquet",
        index="data/environment/index",
    output:
        episodes="data/evaluation/{checkpoint}/episodes.jsonl.zst",
        played="data/evaluation/{checkpoint}/played.json",
    log:
        "logs/play_suites/{checkpoint}.log",
    threads: 1
    resources:
        gpu=1,
        mem_mb=8000,
    params:
        section=[
            "evaluation.rollouts",
            "evaluation.sampling",
            "evaluation.suites",
            "environment.episode",
            "environment.observation",
            "environment.prompt",
            "environment.scorer",
        ],
    shell:
        JOB


# apart from playing: a new metric costs no model call
rule evaluate_model:
    input:
        episodes="data/evaluation/{checkpoint}/episodes.jsonl.zst",
        played="data/evaluation/{checkpoint}/played.json",
    output:
        metrics="data/evaluation/{checkpoint}/metrics.json",
        summary="data/evaluation/{checkpoint}/summary.json",
        plot="data/evaluation/{checkpoint}/plot_pass_at_k.csv",
    log:
        "logs/evaluate_model/{checkpoint}.log",
    localrule: True
    params:
        axes=["k", "pass_at_k"],
    shell:
        JOB


rule evaluate_lm:
    input:
        model="data/models/{checkpoint}",
        episodes="data/evaluation/expert/episodes.jsonl.zst",
        problems="data/environment/problems.jsonl",
        pools="data/leakage/pools.parquet",
        index="data/environment/index",
    output:
        results="data/evaluation/{checkpoint}/lm_eval.json",
        metrics="data/evaluation/{checkpoint}/metrics_lm.json",
    log:
        "logs/evaluate_lm/{checkpoint}.log",
    wildcard_constraints:
        checkpoint="(?!expert)[^/]+",
    threads: 1
    resources:
        gpu=1,
        mem_mb=8000,
    params:
        section=[
            "evaluation.rollouts",
            "evaluation.sampling",
            "evaluation.lm_eval",
            "environment.episode",
            "environment.observation",
            "environment.prompt",
            "environment.scorer",
        ],
    shell:
        JOB
