"""Put every leak cluster into one pool: train, eval, never_touch, or the benchmark that it touches.

python scripts/split_pools.py
"""

from tracemill.leakage.params import PoolParams, SimilarityParams
from tracemill.leakage.split import split_pools
from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the pool of every problem and the shares that the pools get."""
    split_pools(
        stage.input("nodes"),
        stage.input("corpus"),
        stage.input("ledger"),
        pools_path=stage.output("pools"),
        shares_path=stage.output("shares"),
        params=stage.params("leakage.pools", PoolParams),
        similarity=stage.params("leakage.similarity", SimilarityParams),
    )


if __name__ == "__main__":
    run(main)
