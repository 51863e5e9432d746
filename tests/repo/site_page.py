#!/usr/bin/env python3
"""site_page.py SITE: the pages of the documents in a browser: at 360 and 1600 pixels nothing is wider than the window,
without a script every page can be read and left by links, with one the search answers the keyboard in 50 ms, and
nothing is asked of another host. 77: there is no browser."""
import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from browser import check, end_all, open_tab, until

site = pathlib.Path(sys.argv[1]).resolve()
pages = sorted(p.relative_to(site).as_posix() for p in site.rglob("*.html"))
shown = [p for p in pages if not p.startswith("source/")]
check(len(shown) > 100, "the site has more than 100 pages")


def key(tab, name, text=""):
    tab.ask("Input.dispatchKeyEvent", type="keyDown", key=name, code=name, text=text,
            windowsVirtualKeyCode={"Tab": 9, "Enter": 13, "Escape": 27, "ArrowDown": 40}.get(name, 0))
    tab.ask("Input.dispatchKeyEvent", type="keyUp", key=name, code=name)


def window(tab, width):
    tab.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)


tab = open_tab((site / "index.html").as_uri())
try:
    asked = []
    for scripted in (False, True):
        tab.ask("Emulation.setScriptExecutionDisabled", value=not scripted)
        # With a script a page looks as without: some are enough.
        for page in shown if not scripted else shown[::20]:
            tab.go((site / page).as_uri())
            check(not tab.said, f"{page}: no complaint of the browser: {tab.said}")
            asked += tab.asked
            for width in (360, 1600):
                window(tab, width)
                got = tab.run("document.documentElement.scrollWidth")
                check(got <= width, f"{page}: at most {width} pixels wide, not {got}")
            check(tab.run("document.querySelector('main').innerText.length") > 100, f"{page}: it has words")
            check(tab.run("document.querySelectorAll('nav a').length") > 30, f"{page}: it has links to others")
            hidden = tab.run("document.getElementById('search').hidden")
            check(hidden != scripted, f"{page}: the search is there with a script, and not without")
    foreign = [a for a in asked if not a.startswith(site.as_uri())]
    check(not foreign, f"no request to another host: {foreign[:3]}")

    # By the keyboard alone: to the text, into the search, to what it finds.
    tab.go((site / "index.html").as_uri())
    key(tab, "Tab")
    check(tab.run("document.activeElement.textContent") == "To the text", "the first link leads to the text")
    key(tab, "/", "/")
    check(tab.run("document.activeElement.type") == "search", "/ leads into the search")
    for name, lead in (("segment_sum", "segment_sum"), ("checkpoint.every", "checkpoint.every"), ("matmul", "matmul")):
        seconds = tab.run(f"""(() => {{
          const input = document.querySelector('#search input');
          input.value = {name!r};
          const begin = performance.now();
          input.dispatchEvent(new Event('input'));
          document.getElementById('found').getBoundingClientRect();
          return (performance.now() - begin) / 1000; }})()""")
        check(seconds < 0.05, f"the search answers in 50 ms, not in {1000 * seconds:.1f}")
        check(tab.run("document.querySelector('#found a').textContent").startswith(lead), f"{name} is found first")
    key(tab, "ArrowDown")
    check(tab.run("document.activeElement.textContent").startswith("matmul"), "an arrow leads to what is found")
    key(tab, "Enter", "\r")
    until("the page of matmul", lambda: "matmul" in tab.run("location.hash"))
    print(f"{len(shown)} pages can be read at two widths, with a script and without")
finally:
    end_all()
