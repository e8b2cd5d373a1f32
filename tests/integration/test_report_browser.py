"""The page in a real headless Chromium: opens without network, filters, opens a trajectory, runs no strangers' code."""

import shutil

import pytest

from tracemill.report.blocks import Section, counts_table
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


def test_more_rows_come_on_request(page):
    page.click("#more")
    assert page.locator("#trajectory-list > li").count() == 100
