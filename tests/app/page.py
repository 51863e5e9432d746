#!/usr/bin/env python3
"""page.py BORA: the page of `bora serve` in a browser: its policy lets it run, and it shows a chat, a completion and
the probabilities of tokens. 77: there is no browser."""
import json
import pathlib
import re
import signal
import subprocess
import sys
import urllib.request
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from browser import check, end_all, folder, open_tab, start, until


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data)) as answer:
        return answer.read().decode()


bora = sys.argv[1]
text = folder / "text"
text.write_text("\n%\n".join(f"The wind number {i * i} blows over the hills." for i in range(400)))
subprocess.run([bora, "train", f"data={text}", f"out={folder}/run", "steps=2", "batch=2", "eval.rows=2",
                "model.layers=2", "model.embed=24", "model.heads=3", "model.positions=2048"], check=True,
               stdout=subprocess.DEVNULL)
server, root = start([bora, "serve", f"{folder}/run", "--port", "0", "--chat-template", "chatml"],
                     lambda log: (m := re.search(r"(http://\S+)/v1", log)) and m[1])
try:
    tab = open_tab(root + "/")
    until("the model's name", lambda: tab.run("document.title") == "run - Bora")
    put = "for (const [id, v] of Object.entries(%s)) document.getElementById(id).value = v;"
    done = "document.getElementById('facts').textContent.includes('tokens/s')"

    tab.run("document.getElementById('tab_text').click(); document.getElementById('logprobs').checked = true;" +
            put % '{"text": "The wind", "max_tokens": 20, "seed": 1, "temperature": 1}' +
            "document.getElementById('send').click()")
    until("a completion", lambda: tab.run(done))
    check(tab.run("document.querySelectorAll('#answer .token').length") == 20, "20 tokens with probabilities")
    check(tab.run("document.querySelector('#answer .token').style.backgroundColor") != "", "a token's colour")
    tab.run("document.querySelector('#answer .token').dispatchEvent(new Event('mouseenter'))")
    check(tab.run("document.querySelectorAll('#top tr').length") in (5, 6), "the most likely tokens")
    check("seed 1" in tab.run("document.getElementById('facts').textContent"), "the seed is shown")

    words = "<img src=x onerror=alert(1)> hi"
    tab.run("document.getElementById('tab_chat').click(); document.getElementById('logprobs').checked = false;" +
            put % json.dumps({"say": words, "max_tokens": 12, "seed": 4}) + "document.getElementById('send').click()")
    until("a chat", lambda: tab.run(done) and tab.run("document.querySelectorAll('.turn.assistant').length") == 1)
    check(tab.run("document.querySelectorAll('#log img').length") == 0, "what is said is text")
    check(tab.run("document.querySelector('.turn.user').lastChild.textContent") == words, "what the user said")
    same = json.loads(ask(root + "/v1/chat/completions",
                          {"messages": [{"role": "user", "content": words}], "max_tokens": 12, "seed": 4,
                           "temperature": 1, "repetition_penalty": 1}))["choices"][0]["message"]["content"]
    check(tab.run("document.querySelector('.turn.assistant').lastChild.textContent") == same, "the page's answer")

    running = lambda: re.search(r"^bora_num_requests_running\{.*\} (\d+)", ask(root + "/metrics"), re.M)[1]
    tab.run(put % '{"say": "go on", "max_tokens": 1800}' + "document.getElementById('send').click()")
    until("a running request", lambda: running() == "1")
    tab.run("document.getElementById('stop_now').click()")
    until("its end", lambda: running() == "0")
    tab.run(put % '{"say": "too long", "max_tokens": 100000}' + "document.getElementById('send').click()")
    until("an error", lambda: "maximum context length" in tab.run("document.getElementById('error').textContent"))
    # What the policy refuses, and the answer to the request that was too long, would be said here.
    foreign = [s for s in tab.said if "400 (Bad Request)" not in s]
    check(not foreign, f"no complaint of the browser: {foreign}")
    server.send_signal(signal.SIGTERM)
    check(server.wait(60) == 0, "exit code 0")
    print("the page works")
finally:
    end_all()
