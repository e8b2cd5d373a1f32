"""The page of the last builds says why each stage ran and what came of it."""

from tracemill.report.builds import render_builds, render_times

LOG = [
    {
        "event": "build",
        "time": 0.0,
        "reasons": {"filter_traces": ["params changed: corpus.gates", "input a changed"], "train_sft": ["x"]},
    },
    {"event": "stage", "time": 1.0, "stage": "filter_traces", "status": 0, "seconds": 1.5},
    {"event": "stage", "time": 2.0, "stage": "assemble_corpus", "status": 1, "seconds": 2.0},
    {"event": "end", "time": 3.0, "outcome": "failed", "seconds": 4.25},
    {"event": "build", "time": 86400.0, "reasons": {}},
]


def test_newest_build_comes_first_and_a_killed_one_says_so():
    page = render_builds(LOG)

    assert page.index("1970-01-02 00:00:00 UTC") < page.index("1970-01-01 00:00:00 UTC")
    assert "still running, or killed; 0 stages ran." in page
    assert "failed in 4.25 s; 2 stages ran." in page


def test_each_stage_stands_with_its_reason_and_result():
    page = render_builds(LOG)

    assert (
        '<th scope="row">filter_traces</th><td>params changed: corpus.gates\ninput a changed</td><td>done</td>' in page
    )
    assert '<th scope="row">assemble_corpus</th><td>an input changed during the build</td><td>failed (1)</td>' in page
    assert "restored from the cache or not reached: train_sft." in page


def test_the_last_successful_run_of_each_stage_is_kept_for_the_report_as_data_alone():
    again = {"event": "stage", "time": 9.0, "stage": "filter_traces", "status": 0, "seconds": 3.5}
    hostile = {"event": "stage", "time": 9.5, "stage": "</script><script>", "status": 0, "seconds": 1.0}

    assert render_times([*LOG, again]) == 'window.tracemillTimes?.({"filter_traces": [3.5, 9.0]});\n'
    assert "<" not in render_times([hostile])


def test_an_empty_log_is_a_page_too():
    assert "Nothing was built yet." in render_builds([])
