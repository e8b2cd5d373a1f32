"""The real graph in its smallest configuration (profile `quick`), from nothing to the report, built once."""

import base64
import csv
import json
import zipfile

import pytest

from toy_project import NOTHING, ROOT, Project

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def recipe(tmp_path_factory) -> Project:
    folder = tmp_path_factory.mktemp("recipe") / "project"
    Project(ROOT).tracemill("workspace", str(folder), "--profile", "quick")
    project = Project(folder)
    project.snakemake()
    project.commit("built")
    project.ran()
    return project


def test_both_engines_call_the_whole_recipe_up_to_date(recipe: Project):
    assert recipe.path("data/report/report.html").stat().st_size > 10_000
    assert "up to date" in recipe.dvc("status")
    assert NOTHING in recipe.snakemake()
    assert recipe.ran() == []


def test_a_learning_rate_trains_its_stage_alone_and_what_follows(recipe: Project):
    before = recipe.artifacts()
    recipe.dvc("exp", "run", "-S", "training.stages.kto.train.learning_rate=0.0005")
    ran = recipe.ran()
    assert {"train_kto-kto", "evaluate_model-kto", "render_report"} <= set(ran)
    assert all(one == "render_report" or one.endswith("-kto") for one in ran)
    assert NOTHING in recipe.snakemake()
    recipe.git("checkout", "--", "params.yaml")
    recipe.snakemake()
    assert recipe.ran() == []
    assert recipe.artifacts() == before


def test_a_sweep_of_learning_rates_gives_a_row_for_each(recipe: Project):
    before = recipe.artifacts()
    sweep = "training.stages.kto.train.learning_rate=0.0002,0.0008"
    recipe.dvc("exp", "run", "--queue", "-S", sweep, "evaluate_model-kto")
    recipe.dvc("queue", "start", "-j", "1")
    rows = list(csv.DictReader(recipe.when_queue_is_done(2).splitlines()))
    rates = {row["training.stages.kto.train.learning_rate"] for row in rows}
    assert {"0.0002", "0.0008"} <= rates
    assert recipe.artifacts() == before


def test_metrics_and_plots_speak_to_dvc(recipe: Project):
    metrics = recipe.dvc("metrics", "show")
    assert "data/evaluation/sft/metrics.json" in metrics
    assert "data/report/metrics.json" in metrics
    drawn = json.loads(recipe.dvc("plots", "show", "--json", "data/training/sft/plot_curve.csv"))["data"]
    axes = drawn["data/training/sft/plot_curve.csv"][0]["content"]["layer"][1]["encoding"]
    assert (axes["x"]["field"], axes["y"]["field"]) == ("step", "loss")


def test_an_artifact_tells_its_lineage_down_to_the_catalogue(recipe: Project):
    said = recipe.tracemill("show", "data/models/sft")
    assert "made by    train_sft-sft" in said
    assert "data/environment/catalog.jsonl.zst" in said


def test_the_report_of_snakemake_carries_the_page(recipe: Project):
    page = recipe.path("data/report/report.html").read_bytes()
    recipe.snakemake("--report", "made.html")
    recipe.snakemake("--report", "made.zip")
    assert base64.b64encode(page) in recipe.path("made.html").read_bytes()
    with zipfile.ZipFile(recipe.path("made.zip")) as made:
        inside = [made.read(name) for name in made.namelist() if "/data/" in name and name.endswith("report.html")]
    assert inside == [page]
    assert recipe.ran() == []
