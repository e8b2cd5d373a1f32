"""Fixtures of the end-to-end tests: the toy project, built once and copied."""

from pathlib import Path

import pytest

from toy_project import Project, copy_of, make_toy


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> Project:
    project = make_toy(tmp_path_factory.mktemp("built"))
    project.snakemake()
    project.commit("built")
    return project


@pytest.fixture
def project(built: Project, tmp_path: Path) -> Project:
    """A copy of the built project, everything up to date and committed."""
    return copy_of(built, tmp_path / "project")


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    """A project of which nothing is built."""
    folder = tmp_path / "fresh"
    folder.mkdir()
    return make_toy(folder)


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in Path(item.fspath).parents:
            item.add_marker(pytest.mark.e2e)
