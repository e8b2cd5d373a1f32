"""The default arena, built once for all tests of the package."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tracemill.arena.catalog import generate_catalog
from tracemill.arena.params import CatalogParams, MinerParams, ProblemParams
from tracemill.arena.problems import generate_problems
from tracemill.arena.simulate import simulate
from tracemill.environment.index import build_index, open_index

PARAMS = YAML(typ="safe").load((Path(__file__).parents[3] / "params.yaml").read_text())


@pytest.fixture(scope="session")
def products():
    return generate_catalog(CatalogParams(**PARAMS["arena"]["catalog"]))


@pytest.fixture(scope="session")
def problems(products):
    return generate_problems(products, ProblemParams(**PARAMS["arena"]["problems"]))


@pytest.fixture(scope="session")
def catalog(products, tmp_path_factory):
    folder = tmp_path_factory.mktemp("arena") / "index"
    build_index(products, folder)
    return open_index(folder)


@pytest.fixture(scope="session")
def miner_params():
    return MinerParams(**PARAMS["arena"]["miners"])


@pytest.fixture(scope="session")
def envelopes(problems, catalog, miner_params):
    return list(simulate(problems, catalog, miner_params, seed=1, episodes=500))


@pytest.fixture(scope="session")
def of_kind(envelopes):
    """Envelopes of one kind of miner."""

    def select(kind):
        return [e for e in envelopes if e["agent_version_id"].split("/")[0] == kind]

    return select
