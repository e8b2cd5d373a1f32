"""Write the catalogue: the built-in one, or a file's products, sorted by id.

python scripts/build_catalog.py
"""

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Products in SN15's schema, sorted by product id."""
    from tracemill.arena.catalog_file import write_catalog
    from tracemill.arena.params import CatalogParams
    from tracemill.environment.params import CatalogParams as SourceParams

    source = stage.params("environment.catalog", SourceParams).source
    write_catalog(source, stage.params("arena.catalog", CatalogParams), stage.output("catalog"))


if __name__ == "__main__":
    run(main)
