"""Build the search index of the catalogue.

python scripts/index_catalog.py
"""

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Read the catalogue file, write the index folder."""
    from tracemill.environment.index import build_index
    from tracemill.environment.params import IndexParams
    from tracemill.environment.products import read_products

    params = stage.params("environment.index", IndexParams)
    build_index(read_products(stage.input("catalog")), stage.output("index"), params)


if __name__ == "__main__":
    run(main)
