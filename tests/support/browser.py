"""browser.py: pages in a browser (chromium-headless-shell), by its debugging protocol."""
import base64
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

PROGRAM = shutil.which("chromium-headless-shell")
if PROGRAM is None:
    print("SKIPPED: the package chromium-headless-shell is not installed")
    sys.exit(77)
temp = tempfile.TemporaryDirectory()
folder = pathlib.Path(temp.name)
started = []


def until(what, f, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := f():
            return value
        time.sleep(0.05)
    sys.exit(f"{what}: this has not come within {seconds} s")


class Tab:
    """A page in the browser, by its debugging protocol over a web socket (RFC 6455)."""

    def __init__(self, url):
        address = re.match(r"ws://([\d.]+):(\d+)(/.*)", url)
        self.socket = socket.create_connection((address[1], int(address[2])), 60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET {address[3]} HTTP/1.1\r\nHost: {address[1]}:{address[2]}\r\nUpgrade: websocket\r\n"
                            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
                            .encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.socket.recv(1)
        self.number, self.said, self.asked = 0, [], []
        for domain in ("Log", "Runtime", "Page", "Network"):
            self.ask(domain + ".enable")

    def read(self, n):
        data = b""
        while len(data) < n:
            piece = self.socket.recv(n - len(data))
            if not piece:
                sys.exit("the browser has gone")
            data += piece
        return data

    def message(self):
        text = b""
        while True:
            first, size = self.read(2)
            if size == 126:
                size = struct.unpack(">H", self.read(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.read(8))[0]
            text += self.read(size)
            if first & 0x80:
                return json.loads(text)

    def ask(self, method, **parameters):
        self.number += 1
        data = json.dumps({"id": self.number, "method": method, "params": parameters}).encode()
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        self.socket.sendall(b"\x81" + size + bytes(4) + data)  # masked by zeros
        while (answer := self.message()).get("id") != self.number:
            if answer.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
                self.said.append(json.dumps(answer["params"]))
            if answer.get("method") == "Network.requestWillBeSent":
                self.asked.append(answer["params"]["request"]["url"])
        return answer["result"]

    def go(self, url):
        self.said, self.asked = [], []
        self.ask("Page.navigate", url=url)
        until(url, lambda: self.run("document.readyState") == "complete"
              and self.run("location.href").split("?")[0] == url.split("?")[0])

    def run(self, script):
        result = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            sys.exit(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")


def check(ok, what):
    if not ok:
        sys.exit(f"{what}: this is not so")


def start(words, ready):
    """A process with what `ready` finds in its output."""
    log = folder / f"{len(started)}.log"
    process = subprocess.Popen(words, stdout=open(log, "w"), stderr=subprocess.STDOUT, start_new_session=True)
    started.append(process)
    return process, until(words[0], lambda: ready(log.read_text()))


def open_tab(url):
    """The browser's tab with this page."""
    _, port = start([PROGRAM, "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--no-first-run",
                     f"--user-data-dir={folder}/profile", url],
                    lambda log: (m := re.search(r"DevTools listening on ws://127.0.0.1:(\d+)/", log)) and m[1])

    def pages():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
            return [t for t in json.loads(answer.read()) if t["type"] == "page" and t["url"] != "about:blank"]
    return Tab(until("a tab", pages)[0]["webSocketDebuggerUrl"])


def end_all():
    """Ends what was started: the browser is started by a script, and has processes of its own."""
    for process in started:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
