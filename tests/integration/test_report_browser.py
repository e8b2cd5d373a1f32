"""The page in a real headless Chromium: opens without network, filters, opens a trajectory, runs no strangers' code."""

import shutil

import pytest

from tracemill.report.blocks import Figure, Section, Table, counts_table
from tracemill.report.builds import render_times
from tracemill.report.graph import plot_graph
from tracemill.report.render import render_page
from tracemill.report.trajectories import Entry, pack, page_messages

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"]
HOSTILE = "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script>"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: apt-get install chromium)")


def entry(position, category, success):
    messages = page_messages(
        [
            {"role": "user", "content": f"query {position} {HOSTILE}"},
            {
                "role": "assistant",
                "reasoning_content": f"thought {position} {HOSTILE}",
                "tool_calls": [{"function": {"name": "find_product", "arguments": {"q": HOSTILE}}}],
            },
        ],
        4000,
    )
    outcome = "success" if success else "wrong product"
    why = [] if success else [f"price: wanted at most 10, found 12 {HOSTILE}"]
    query = f"query {position} {HOSTILE}"
    return Entry(f"t{position}", "corpus", f"p{position}", category, query, outcome, success, "1 turn", why, messages)


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", *QUIET])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser, tmp_path):
    entries = [entry(n, "shop" if n % 2 else "product", n % 3 != 0) for n in range(120)]
    # an anchor named like a part of the page would break it if the two shared one name space
    section = Section("results", "Funnel", HOSTILE, [counts_table("Rows", {HOSTILE: 3}, "reason")])
    (tmp_path / "report.html").write_text(render_page("Report", "lead", [section], *pack(entries)), encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 380, "height": 800}, color_scheme="dark")
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("body[data-ready]")
    yield page
    context.close()


def test_the_browser_lists_searches_and_filters(page):
    assert page.inner_text("#found") == "120 of 120 trajectories"
    assert page.locator("#trajectory-list > li").count() == 50
    page.fill("#search", "query 117")
    assert page.inner_text("#found") == "1 of 120 trajectories"
    page.fill("#search", "")
    page.select_option("#outcome", "wrong product")
    page.select_option("#category", "shop")
    assert page.inner_text("#found") == "20 of 120 trajectories"


def test_a_trajectory_opens_by_keyboard_and_says_why_it_failed(page):
    page.fill("#search", "t117")
    page.locator("#trajectory-list summary").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#trajectory-list .turn.assistant")

    assert page.inner_text("#trajectory-list .bad >> nth=1").startswith("price: wanted at most 10, found 12 <img")
    assert "thought 117 <img" in page.inner_text("#trajectory-list .think")


def test_strangers_text_runs_nowhere(page):
    page.fill("#search", "t117")
    page.locator("#trajectory-list summary").first.click()
    page.wait_for_selector("#trajectory-list .turn")

    assert page.title() == "Report"
    assert page.locator("img").count() == 0
    assert page.errors == []


def test_the_page_fits_a_phone_and_follows_the_dark_theme(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 30)"


@pytest.mark.parametrize(("width", "stops"), [(1280, 0), (90, 1)])
def test_the_keyboard_stops_only_at_tables_that_scroll(page, width, stops):
    page.set_viewport_size({"width": width, "height": 800})
    page.reload()
    page.wait_for_selector("body[data-ready]")

    assert page.locator(".scroll").count() == 1
    assert page.locator(".scroll[tabindex]").count() == stops


def test_more_rows_come_on_request(page):
    page.click("#more")
    assert page.locator("#trajectory-list > li").count() == 100


@pytest.mark.parametrize("width", [380, 700, 960, 1280])
def test_a_link_leads_to_a_heading_that_can_be_seen(browser, tmp_path, width):
    titles = ["Checkpoints", "Training", "Funnel", "Snapshot drift", "Leak guard", "Built from what", "Versions, seeds"]
    sections = [Section(f"s{n}", title, "text\n" * 400, []) for n, title in enumerate(titles)]
    (tmp_path / "report.html").write_text(render_page("Report", "lead", sections, *pack([])), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto((tmp_path / "report.html").as_uri())
    page.get_by_role("link", name="Snapshot drift").click()
    seen = page.evaluate(
        """() => {
        const box = document.getElementById("s3").getBoundingClientRect();
        return document.elementFromPoint(box.left + 5, box.top + 5).id;
    }"""
    )
    page.close()
    assert seen == "s3"


def test_a_phone_breaks_no_name_where_there_is_room_for_it(browser, tmp_path):
    name = "recommended_in_held_out_pool"
    audit = counts_table("Audit", {"x": "passed", name: "passed"}, "check", "result")
    wide = Table("Wide", ["check", *"abcdefgh"], [[name, *["100.0 to 100.0"] * 8]], list(range(1, 9)))
    section = Section("leaks", "Leak guard", "", [audit, wide])
    (tmp_path / "report.html").write_text(render_page("Report", "lead", [section], *pack([])), encoding="utf-8")
    page = browser.new_page(viewport={"width": 380, "height": 800})
    page.goto((tmp_path / "report.html").as_uri())
    line, whole, broken = (row.bounding_box()["height"] for row in page.locator("th[scope=row]").all())
    page.close()
    assert line == whole < broken


@pytest.fixture
def timed(browser, tmp_path):
    """A page with an artifact table and a graph, that looks for times beside itself."""
    rows = [["data/a", HOSTILE, "c0ffee"], ["data/b", "train", "beef"]]
    stages = [HOSTILE, "snapshots/a/dvc.yaml:train"]
    table = Table("Artifacts", ["artifact", "stage", "digest"], rows, stages=stages)
    section = Section("lineage", "Built from what", "", [Figure(plot_graph([("catalog", "train")], "Stages")), table])
    html = render_page("Report", "lead", [section], *pack([]), {"Last builds": "builds.html"}, "builds.js")
    (tmp_path / "report.html").write_text(html, encoding="utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    yield page, tmp_path
    context.close()


def test_times_of_the_last_builds_stand_in_table_and_graph(timed):
    page, folder = timed
    runs = {HOSTILE: 0.5, "snapshots/a/dvc.yaml:train": 66.2, "snapshots/b/dvc.yaml:train": 60.0}
    log = [{"event": "stage", "time": 86400.0, "stage": s, "status": 0, "seconds": n} for s, n in runs.items()]
    (folder / "builds.js").write_text(render_times(log), encoding="utf-8")
    page.goto((folder / "report.html").as_uri())
    page.wait_for_selector("body[data-times]")

    assert page.locator(".times").all_inner_texts() == ["0.5 s, 1970-01-02 00:00 UTC", "66 s, 1970-01-02 00:00 UTC"]
    assert page.locator("nav a").all_inner_texts()[-1] == "Last builds"
    assert page.locator("nav a").last.is_visible()
    assert "train · 2 min" in page.locator("svg text").all_text_contents()
    assert page.title() == "Report"
    assert page.errors == []


def test_without_times_the_page_is_whole_and_links_to_no_page_that_is_not_there(timed):
    page, folder = timed
    page.goto((folder / "report.html").as_uri())
    page.wait_for_selector("body[data-ready]")

    assert page.locator(".times").count() == 0
    assert page.get_by_text("Last builds").is_hidden()
    assert page.locator("tbody tr").count() == 2
    assert page.errors == []


def test_a_script_that_markup_brings_does_not_run(timed):
    page, folder = timed
    (folder / "evil.js").write_text("document.title = 'owned'")
    text = (folder / "report.html").read_text(encoding="utf-8")
    brought = "<script>document.title = 'owned'</script><script src='evil.js'></script>"
    (folder / "report.html").write_text(text.replace("</main>", f"{brought}</main>"), encoding="utf-8")
    page.goto((folder / "report.html").as_uri())
    page.wait_for_selector("body[data-ready]")

    assert page.title() == "Report"
