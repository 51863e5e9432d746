#!/usr/bin/env python3
"""run_page.py BORA: the page of a run in a browser: while the run goes on, as its report, and of two runs side by side.
77: there is no browser."""
import json
import pathlib
import re
import signal
import subprocess
import sys
import time
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from browser import check, end_all, folder, open_tab, start, until

bora = sys.argv[1]
INK = """[...document.querySelectorAll('canvas')].filter(c => c.checkVisibility()).map(c => {
  const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  const colours = new Set();
  for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) colours.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
  return [c.closest('figure').textContent, colours.size];
})"""
TABLE = """[...document.querySelectorAll('figure')].find(f => f.querySelector('b').textContent === 'Loss')
  .querySelectorAll('.numbers tr')"""


def drawn(tab):
    """The number of charts; 0 until there is ink in each of them."""
    all_ink = tab.run(INK)
    return len(all_ink) if all(colours > 1 for _, colours in all_ink) else 0


def press(tab, key):
    for kind in ("keyDown", "keyUp"):
        tab.ask("Input.dispatchKeyEvent", type=kind, key=key, **({"text": key} if len(key) == 1 else {}))


def quiet(tab, root):
    """No complaint of the browser, and no request but to the page's own server."""
    said = [s for s in tab.said if '"level": "warning"' not in s]   # of reading ink back, which only this test does
    check(not said, f"no complaint of the browser: {said}")
    check(all(url.startswith(root) for url in tab.asked), f"no request elsewhere: {tab.asked}")


def widths(tab):
    for width in (360, 1600):
        tab.ask("Emulation.setDeviceMetricsOverride", width=width, height=4000, deviceScaleFactor=1, mobile=False)
        until(f"charts at {width} pixels", lambda: drawn(tab))
        check(tab.run("document.documentElement.scrollWidth") <= width, f"nothing is wider than {width} pixels")


def metrics(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {line["step"]: str(line["train/loss"]) for line in lines if "train/loss" in line}


def table_is(tab, expected):
    """The newest rows of the table are those numbers, with the same digits."""
    rows = tab.run(f"[...{TABLE}].map(r => [...r.children].map(c => c.textContent))")
    head, rows = rows[0], rows[1:]
    column = head.index("train/loss")
    found = {int(r[0]): r[column] for r in rows if r[column] and r[0].isdigit()}  # else a row is of several steps
    return len(found) > 3 and all(float(expected.get(step, "nan")) == float(x) for step, x in found.items())


text = folder / "text"
text.write_text("\n%\n".join(f"The wind number {i * i} blows over the hills." for i in range(400)))
hostile = folder / "<img src=x onerror=alert(1)>"
# Steps take some time, so that the page still has each by itself.
words = [bora, "train", f"data={text}", "batch=16", "eval.rows=2", "eval_every=50", "model.layers=2", "model.embed=96",
         "model.heads=3", "model.positions=64", "page=on"]
try:
    run, root = start([*words, f"out={hostile}", "steps=1000000"],
                      lambda log: (m := re.search(r"page: (http://\S+)", log)) and m[1])
    address, site = root, root.split("?")[0]
    tab = open_tab("data:text/html,none")
    tab.go(address)
    until("charts", lambda: drawn(tab) >= 5, 200)
    check(tab.run("location.href") == site, "the token has gone from the address")
    check(tab.run("document.querySelectorAll('img').length") == 0, "names are text")
    check(hostile.name in tab.run("document.getElementById('name').textContent"), "the run's name")
    # Numbers of strangers come into the file: an event, a name with markup.
    with open(hostile / "metrics.jsonl", "a") as file:
        file.write(json.dumps({"step": 20, "time": int(time.time()), "event": "slow_rank",
                               "text": "rank 3 <b>is slow</b>"}) + "\n")
        file.write('{"step": 21, "time": 1790000000, "<script>x</script>": 1.5}\n')
    until("an event", lambda: "rank 3 <b>is slow</b> (step 20" in
          tab.run("document.getElementById('alert').textContent"))
    tab.run("document.getElementById('more').open = true")
    until("a chart of any name", lambda: tab.run(
        "[...document.querySelectorAll('figure b')].some(b => b.textContent === '<script>x</script>')"))
    widths(tab)
    tab.run("document.body.focus()")
    press(tab, "t")
    until("the table", lambda: tab.run(f"{TABLE}.length") > 3 and table_is(tab, metrics(hostile)))
    press(tab, "t")
    for key in ("l", "x", "d", "+", "ArrowRight", "-", "0"):
        press(tab, key)
        until(f"charts after {key}", lambda: drawn(tab))
    check(tab.run("document.getElementById('log').getAttribute('aria-pressed')") == "true", "l is the log scale")
    check(tab.run("document.getElementById('by_time').getAttribute('aria-pressed')") == "true", "x is time")
    quiet(tab, site)
    tab.go("data:text/html,none")   # else the page asks a server that has gone, and the browser complains
    run.send_signal(signal.SIGTERM)
    check(run.wait(60) == 130, "exit code 130")

    # What the run leaves behind, without a server.
    tab.go(f"file://{hostile}/report.html".replace("<", "%3C").replace(">", "%3E").replace(" ", "%20"))
    until("charts of the report", lambda: drawn(tab) >= 5)
    check(tab.run("document.querySelectorAll('img').length") == 0, "names are text in the report")
    widths(tab)
    press(tab, "t")
    until("the report's table", lambda: tab.run(f"{TABLE}.length") > 3)
    quiet(tab, "file://")

    # A run of a million steps, beside another one.
    runs = []
    for name, steps in (("long", 1_000_000), ("short", 300)):
        runs.append(folder / name)
        runs[-1].mkdir()
        (runs[-1] / "config.yaml").write_text(f"# Bora\nsteps: {steps}\noptimizer:\n  lr: {steps}\n")
        with open(runs[-1] / "metrics.jsonl", "w") as file:
            for i in range(1, steps + 1):
                file.write('{"step": %d, "time": %d, "train/loss": %g}\n' % (i, 1790000000 + i, 4 + 8 / i + i % 7 / 9))
    begin = time.monotonic()
    subprocess.run([bora, "page", *map(str, runs), "--out", f"{folder}/two.html"], check=True)
    made = time.monotonic() - begin
    tab.go(f"file://{folder}/two.html")
    until("both runs", lambda: drawn(tab) == 1)
    took = min(tab.run("(() => { const begin = performance.now(); draw(); return performance.now() - begin; })()")
               for _ in range(5))
    check(took < 1000, f"a million steps are drawn within a second: {took} ms")
    legend = tab.run("document.querySelector('figcaption').textContent")
    check("long" in legend and "short" in legend, f"both runs are named: {legend}")
    tab.run("document.getElementById('settings').open = true")
    until("what differs", lambda: tab.run("document.querySelectorAll('tr.differs').length") == 2)
    quiet(tab, "file://")
    print(f"the page works; a million steps: file made in {made:.1f} s, drawn in {took:.0f} ms")
finally:
    end_all()
