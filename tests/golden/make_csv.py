#!/usr/bin/env python3
"""Writes csv.json beside this file: random texts, and the rows that Python's csv module (3.11, strict) gives of them,
without those that are empty; "bad" in place of a row that it refuses, which ends the list."""
import csv
import io
import json
import pathlib
import random

random.seed(20261123)
PARTS = [",", ",", "\n", "\r\n", '"', '"', '""', '","', '"\n', "a", "b c", " ", "é", "語", "x" * 9, "0.5", "'", ";"]
WELL = ["a", "b c", " ", "", "", '""', ",", "\n", "\r\n", "é", "%", "line\nline", 'say "x"']


def rows(text):
    out = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), strict=True):
            if row:
                out.append(row)
    except csv.Error:
        out.append("bad")
    return out


def well_formed():
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=random.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
                        lineterminator=random.choice(["\n", "\r\n"]))
    for _ in range(random.randrange(1, 6)):
        writer.writerow(["".join(random.choices(WELL, k=random.randrange(3))) for _ in range(2)])
    text = out.getvalue()
    return text if random.random() < 0.5 else text.rstrip("\r\n")


texts = [well_formed() for _ in range(150)]
texts += ["".join(random.choices(PARTS, k=random.randrange(12))) for _ in range(350)]
texts += ["", "\n", "\r\n\r\n", '"', '""', 'a,"', '"a"b', '"a" ,b', '"a""', '"a"""', 'a"b,c', '"a,b"\r\n', ",", ",\n,",
          '"",""']
cases = [{"text": t, "rows": rows("x,y\n" + t)[1:]} for t in texts]
path = pathlib.Path(__file__).parent / "csv.json"
path.write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n")
