"""The side of Hugging Face's tokenizers of perf/compare: on one thread, without offsets."""
import os
import pathlib

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

from common import serve  # noqa: E402

BYTES = 10_000_000


def documents():
    files = [f for f in pathlib.Path("/usr/share/games/fortunes").iterdir() if f.is_file() and not f.suffix]
    out, size, taken = [b""], 0, 0
    while taken < BYTES and files:
        for f in sorted(files):
            lines = f.read_bytes().split(b"\n")
            for line in lines[:-1] if lines[-1] == b"" else lines:
                line += b"\n"
                if taken >= BYTES:
                    break
                if size > 2000:
                    out.append(b"")
                    size = 0
                out[-1] += line
                size += len(line)
                taken += len(line)
    return [d.decode(errors="replace") for d in out]


def cases():
    def tokenize():
        golden = pathlib.Path(__file__).parent.parent.parent / "tests/golden"
        t, texts = Tokenizer.from_file(str(golden / "tokenizer_gpt2.json")), documents()

        def ids():
            for i in range(0, len(texts), 1000):
                for e in t.encode_batch_fast(texts[i:i + 1000], add_special_tokens=False):
                    yield e.ids

        def values():
            all_ids = [np.array(i, dtype=float) for i in ids()]
            return {"out0": [sum(i.size for i in all_ids), sum(float(i @ (np.arange(i.size) % 97)) for i in all_ids)]}

        return {"tokenizers": (lambda: sum(map(len, ids())), values)}

    return {"tokenize": tokenize}


serve(cases())
