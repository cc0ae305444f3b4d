"""report.py BUILD SOURCE [SCREENSHOTS]: `kiln report` in a real browser, headless Chromium: clicks, filters, sorts, follows a miss to its
cause, with a mouse and with keys alone, on a phone and in the dark; names that look like markup; 100,000 events.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

build, source = sys.argv[1:3]
screenshots = sys.argv[3] if len(sys.argv) > 3 else None
kiln = os.path.join(build, "bin", "kiln")
work = tempfile.mkdtemp(prefix="kiln-browser-")
environment = dict(os.environ, KILN_CACHE_DIR=os.path.join(work, "cache"), XDG_STATE_HOME=os.path.join(work, "state"), KILN_BASE_PACK="")


def check(what, got, wanted):
    if got != wanted:
        sys.exit("report.py: %s: got %r, expected %r" % (what, got, wanted))


def holds(what, truth):
    if not truth:
        sys.exit("report.py: %s" % what)


def report(name, *arguments):
    path = os.path.join(work, name)
    result = subprocess.run([kiln, "report", *arguments, "-o", path], env=environment, capture_output=True, text=True)
    check("status of kiln report %s (%s)" % (" ".join(arguments), result.stderr), result.returncode, 0)
    return path


def browser(dark=False, width=1200, height=1600):
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(word)
    options.add_argument("--window-size=%d,%d" % (width, height))
    if dark:
        options.add_argument("--force-dark-mode")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def open_page(driver, path):
    driver.get("file://" + path)
    for _ in range(200):
        if driver.execute_script("return document.body.dataset.ready") == "yes":
            break
        time.sleep(0.05)
    complaints = [line["message"] for line in driver.get_log("browser") if line["level"] == "SEVERE"]
    check("complaints of the browser", complaints, [])
    outside = driver.execute_script("return performance.getEntriesByType('resource').map((e) => e.name)")
    check("what the page loaded from elsewhere", outside, [])


def keep(driver, name):
    if screenshots:
        os.makedirs(screenshots, exist_ok=True)
        driver.save_screenshot(os.path.join(screenshots, name + ".png"))


def column(driver, table, number):
    return [cell.text for cell in driver.find_elements(By.CSS_SELECTOR, "#%s tbody tr td:nth-child(%d)" % (table, number))]


def heading(driver, table, number):
    return driver.find_element(By.CSS_SELECTOR, "#%s th:nth-child(%d)" % (table, number))


# ---- a real run

def test_a_run():
    subprocess.run([kiln, "run", "--", os.path.join(build, "bin", "transformer")], env=environment, check=True, capture_output=True)
    driver = browser()
    open_page(driver, report("run.html"))
    keep(driver, "run")
    summary = driver.find_element(By.ID, "summary").text
    holds("the sentence on top is %r" % summary, "kernels compiled in" in summary and "saved" in summary)
    holds("there is no chart", driver.find_elements(By.CSS_SELECTOR, "#chart canvas"))

    # Sorted by compile time at first; a click on a heading sorts by it, a second one the other way round.
    check("what is sorted first", heading(driver, "functions-table", 7).get_attribute("aria-sort"), "descending")
    heading(driver, "functions-table", 1).find_element(By.TAG_NAME, "button").click()
    names = column(driver, "functions-table", 1)
    check("names in order", names, sorted(names, key=str.lower))
    heading(driver, "functions-table", 1).find_element(By.TAG_NAME, "button").click()
    check("names the other way round", column(driver, "functions-table", 1), names[::-1])

    # A filter; a function's misses; from a miss to its event.
    driver.find_element(By.ID, "functions-find").send_keys("transformer")
    holds("the filter shows others", all("transformer" in name for name in column(driver, "functions-table", 1)))
    [row for row in driver.find_elements(By.CSS_SELECTOR, "#functions-table button.link") if row.text == "transformer"][0].click()
    misses = driver.find_element(By.ID, "misses").text
    holds("the cause of the miss is %r" % misses, "first call" in misses)
    driver.find_element(By.CSS_SELECTOR, "#misses button").click()
    event = driver.find_element(By.ID, "event").text
    holds("the event that was followed is %r" % event, "first call" in event and "transformer" in event and "call" in event)

    # The time line: zoom, hide a kind, choose by a click and by keys alone.
    driver.find_element(By.ID, "zoom-all").click()
    driver.find_element(By.CSS_SELECTOR, "#timeline details summary").click()
    time.sleep(0.2)
    before = len(column(driver, "longest", 1))
    driver.find_element(By.ID, "zoom-in").click()
    driver.find_element(By.ID, "zoom-in").click()
    time.sleep(0.3)
    holds("zooming leaves as many events in view", len(column(driver, "longest", 1)) <= before)
    driver.find_element(By.ID, "zoom-all").click()
    label = [l for l in driver.find_elements(By.CSS_SELECTOR, "#timeline-kinds label") if l.text == "compile"][0]
    label.click()
    time.sleep(0.3)
    holds("a hidden kind is still listed", "compile" not in column(driver, "longest", 2))
    label.click()
    lanes = driver.find_element(By.ID, "lanes")
    lanes.send_keys("n")
    first = driver.find_element(By.ID, "event").text
    lanes.send_keys("n")
    holds("the key n does not go on", driver.find_element(By.ID, "event").text != first)
    lanes.send_keys("p")
    check("the event that the key p goes back to", driver.find_element(By.ID, "event").text, first)

    # Plans: a graph with a box for each step and bytes on its edges, and texts folded below.
    driver.find_element(By.ID, "functions-find").send_keys(Keys.CONTROL, "a", Keys.DELETE)
    Select(driver.find_element(By.ID, "plans-function")).select_by_visible_text("transformer")
    boxes = driver.find_elements(By.CSS_SELECTOR, "#plan-graph rect.kernel")
    steps = len(driver.find_elements(By.CSS_SELECTOR, "#plan-kernels ol li"))
    holds("the plan has %d boxes and %d steps" % (len(boxes), steps), 0 < len(boxes) <= steps)
    holds("no edge says its bytes", any(t.text.endswith(" B") for t in driver.find_elements(By.CSS_SELECTOR, "#plan-graph text.small")))
    holds("no kernel says its share of the bandwidth", any("of this machine" in t.text for t in driver.find_elements(By.CSS_SELECTOR, "#plan-graph text.small")))
    kernels = driver.find_elements(By.CSS_SELECTOR, "#plan-kernels details")[1:]
    kernels[0].find_element(By.TAG_NAME, "summary").click()
    holds("the text of a kernel is not there", "define void @kiln_" in kernels[0].find_element(By.TAG_NAME, "pre").text)
    holds("the folder is empty", len(column(driver, "folder-table", 1)) > 3)
    driver.quit()


def test_keys_alone():
    driver = browser()
    open_page(driver, os.path.join(work, "run.html"))
    body = driver.find_element(By.TAG_NAME, "body")
    reached = set()
    for _ in range(80):
        body.send_keys(Keys.TAB)
        focus = driver.switch_to.active_element
        reached.add(focus.get_attribute("id") or focus.text)
        body = focus
    for wanted in ("timeline-function", "lanes", "zoom-in", "functions-find", "transformer"):
        holds("the tab key does not reach %s; it reaches %s" % (wanted, sorted(reached)), wanted in reached)
    # What a screen reader is told: a name for every control, a caption for every table, a level for every heading.
    nameless = driver.execute_script("""
        return [...document.querySelectorAll('button, select, input, canvas')].filter((e) =>
            !(e.textContent.trim() || e.getAttribute('aria-label') || e.closest('label') || e.closest('[role=img]'))).map((e) => e.outerHTML)""")
    check("controls without a name", nameless, [])
    check("tables without a caption", driver.execute_script("return [...document.querySelectorAll('table')].filter((t) => t.tHead && !t.caption).length"), 0)
    check("headings of the first level", driver.execute_script("return document.querySelectorAll('h1').length"), 1)
    check("language of the page", driver.execute_script("return document.documentElement.lang"), "en")
    driver.quit()


def contrast(driver, selector):
    """Of the text of an element against the page, as WCAG has it."""
    def luminance(colour):
        parts = [int(p) / 255 for p in colour[colour.index("(") + 1:-1].split(",")[:3]]
        parts = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    colours = driver.execute_script("const e = document.querySelector(arguments[0]); return [getComputedStyle(e).color, getComputedStyle(document.body).backgroundColor]", selector)
    light, dark = sorted((luminance(c) for c in colours), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_dark_and_small():
    for dark in (False, True):
        driver = browser(dark, 412, 900)
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 360, "height": 760, "deviceScaleFactor": 2, "mobile": True})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        open_page(driver, os.path.join(work, "run.html"))
        keep(driver, "phone-dark" if dark else "phone")
        check("width of the page on a phone", driver.execute_script("return document.documentElement.scrollWidth"), 360)
        for selector in ("#summary", ".faint", "a", "td"):
            holds("%s has a contrast of %.1f, dark: %s" % (selector, contrast(driver, selector), dark), contrast(driver, selector) >= 4.5)
        driver.quit()


# ---- made time lines

def write_timeline(name, events):
    path = os.path.join(work, name)
    with open(path, "w", encoding="utf-8") as out:
        out.write("[\n")
        for event in events:
            out.write(json.dumps(event) + ",\n")
    return path


def span(kind, name, start, duration, thread=1, **facts):
    return {"name": name, "cat": kind, "ph": "X", "pid": 7, "tid": thread, "ts": start, "dur": duration, "args": facts}


def test_markup():
    evil = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    path = write_timeline("evil.json", [
        {"name": "process_name", "ph": "M", "pid": 7, "tid": 0, "args": {"name": evil}},
        span("call", evil, 1, 50, function=evil, reason=evil + ": x: float32[1024] was float32[512]", outcome="made"),
        span("compile", evil, 2, 40, function=evil, key="</script><script>document.title='owned'</script>")])
    driver = browser()
    open_page(driver, report("evil.html", path))
    driver.find_element(By.CSS_SELECTOR, "#functions-table button.link").click()
    check("the name in the table", driver.find_element(By.CSS_SELECTOR, "#functions-table button.link").text, evil)
    holds("the reason in words", "x: float32[1024] was float32[512]" in driver.find_element(By.ID, "misses").text)
    driver.find_element(By.CSS_SELECTOR, "#misses button").click()
    time.sleep(0.3)
    check("the title", driver.title, "Kiln report")
    check("images that a name made", len(driver.find_elements(By.TAG_NAME, "img")), 0)
    driver.quit()


def test_many_events():
    path = write_timeline("many.json", (span("kernel", "k%d" % (i % 50), i * 10, 8, 1 + i % 8, function="f%d" % (i % 20), bytes=4096) for i in range(100000)))
    page = report("many.html", path)
    driver = browser()
    driver.set_page_load_timeout(60)
    open_page(driver, page)
    check("events", driver.execute_script("return JSON.parse(document.getElementById('data').textContent).events.kind.length"), 100000)
    # A frame of all of them, as the page draws it, from a key to what the reader is told.
    lanes = driver.find_element(By.ID, "lanes")
    lanes.send_keys("+")
    lanes.send_keys("n")
    holds("nothing was chosen", "kernel" in driver.find_element(By.ID, "event").text)
    keep(driver, "many")
    driver.quit()


for test in (test_a_run, test_keys_alone, test_dark_and_small, test_markup, test_many_events):
    test()
    print("ok", test.__name__)
subprocess.run(["rm", "-rf", work], check=True)
