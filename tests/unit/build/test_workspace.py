from pathlib import Path

import pytest

from tracemill.build.workspace import overlay
from tracemill.errors import ParamsError

TEXT = """\
# kept
snapshots:
  sim-a: {source: "sim:", seed: 1}
training:
  rate: 1e-5  # kept too
profiles:
  real: {training.rate: 0.5, snapshots: {one: {source: data.jsonl}}}
"""


@pytest.fixture
def params(tmp_path) -> Path:
    path = tmp_path / "params.yaml"
    path.write_text(TEXT)
    return path


def test_a_profile_sets_dotted_keys_and_keeps_comments(params):
    overlay(params, ["real"], [])
    text = params.read_text()
    assert "# kept\n" in text
    assert "rate: 0.5 " in text
    assert "# kept too" in text
    assert "sim-a" not in text
    assert "data.jsonl" in text


def test_settings_win_over_profiles_and_are_read_as_yaml(params):
    overlay(params, ["real"], ["training.rate=1e-4", "snapshots.two={source: 'sim:', seed: 7}"])
    text = params.read_text()
    assert "rate: 0.0001" in text
    assert "two:" in text


@pytest.mark.parametrize(
    ("profiles", "settings", "said"),
    [
        (["rael"], [], "no profile 'rael'; there are real"),
        ([], ["training.rate"], "expected KEY=VALUE"),
        ([], ["trainin.rate=1"], "there is no section 'trainin'"),
    ],
)
def test_wrong_overlays_are_named(params, profiles, settings, said):
    with pytest.raises(ParamsError, match=said):
        overlay(params, profiles, settings)
