"""A small leak graph on disk, as the build's stages leave it, and problems to fill it with."""

import json

import polars as pl

from tracemill.environment.problem import Problem
from tracemill.leakage.clusters import cluster_leaks
from tracemill.leakage.params import PoolParams, SimilarityParams
from tracemill.leakage.split import split_pools


def make(problem_id, query, golds=(), category="product"):
    """A problem with these gold ids."""
    rewards = [{"product_id": g} for g in golds]
    return Problem(problem_id, category, query, rewards[0] if category == "product" and rewards else rewards or None)


def write_table(problems, path):
    """A snapshot's problems.parquet."""
    rows = [
        {
            "problem_id": p.problem_id,
            "category": p.category,
            "query": p.query,
            "reward": None if p.reward is None else json.dumps(p.reward),
            "voucher": None if p.voucher is None else json.dumps(p.voucher),
        }
        for p in problems
    ]
    schema = dict.fromkeys(("problem_id", "category", "query", "reward", "voucher"), pl.String)
    pl.DataFrame(rows, schema=schema).write_parquet(path)
    return path


def write_corpus(rows, path):
    """A corpus of (problem key, recommended ids)."""
    schema = {"problem_key": pl.String, "recommended_ids": pl.List(pl.String)}
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(path)
    return path


class Build:
    """The stages' files in a temporary folder."""

    def __init__(self, folder):
        self.folder = folder
        self.nodes, self.edges, self.clusters = (
            folder / n for n in ("nodes.parquet", "edges.parquet", "clusters.json")
        )
        self.pools, self.shares, self.corpus = (folder / n for n in ("pools.parquet", "shares.json", "corpus.parquet"))
        self.ledger, self.audit, self.passed = (folder / n for n in ("held_out.jsonl", "audit.json", "passed"))
        self.ledger.write_bytes(b"")

    def cluster(self, tables, environment=(), protected=()):
        cluster_leaks(
            tables,
            environment,
            protected,
            nodes_path=self.nodes,
            edges_path=self.edges,
            report_path=self.clusters,
            params=SimilarityParams(),
        )
        return json.loads(self.clusters.read_bytes())

    def split(self, rows, **params):
        write_corpus(rows, self.corpus)
        split_pools(
            self.nodes,
            self.corpus,
            self.ledger,
            pools_path=self.pools,
            shares_path=self.shares,
            params=PoolParams(**params),
            similarity=SimilarityParams(),
        )
        return json.loads(self.shares.read_bytes())


P1 = make("P1", "unisex baby bowl over 19", ["7"])
V1 = make("V1", "beige silicone spoon for toddlers and a travel cot, budget 235", ["8", "7"], "voucher")
S1 = make("S1", "find one shop with wooden train tracks", ["8", "9"], "shop")
