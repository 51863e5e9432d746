#!/usr/bin/env python3
"""serve_clients.py BORA: `bora serve` answers the openai package, unchanged, and lm-evaluation-harness, whose results
are those of its own back end of transformers; so are the numbers of `bora score`."""
import asyncio
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

bora = sys.argv[1]
temp = tempfile.TemporaryDirectory()
folder = pathlib.Path(temp.name)
checks = 0


def check(ok, what):
    global checks
    checks += 1
    if not ok:
        sys.exit(f"{what}: this is not so")


def run(*words):
    done = subprocess.run([bora, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bora {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


class Server:
    def __init__(self, *words):
        self.log = open(folder / "server.log", "w+")
        self.process = subprocess.Popen([bora, "serve", *map(str, words), "--port", "0"], stdout=self.log,
                                        stderr=subprocess.STDOUT)
        for _ in range(3000):
            found = re.search(r"(http://\S+)/v1", (folder / "server.log").read_text())
            if found or self.process.poll() is not None:
                break
            time.sleep(0.02)
        if not found:
            sys.exit((folder / "server.log").read_text())
        self.root = found.group(1)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        if kind is None:
            check(code == 0, "exit code 0")


def make_model():
    """A folder of Hugging Face's with a small model and a tokenizer of its own."""
    text = folder / "text"
    text.write_text("\n%\n".join(f"The wind number {i * i} blows over the hills and äöü." for i in range(3000)))
    run("train-tokenizer", "--vocab", 400, "--out", folder / "tokenizer.json", text)
    run("train", f"data={text}", "tokenizer=huggingface", f"tokenizer.path={folder}/tokenizer.json", "steps=30",
        "warmup=5", "batch=8", "lr=3e-3", "model.layers=2", "model.embed=64", "model.heads=4", "model.positions=256",
        "eval.rows=8", f"out={folder}/run")
    run("export", folder / "run", folder / "hf", "--format", "hf")
    config = json.loads((folder / "hf/config.json").read_text())
    out = folder / "hf"
    if not (out / "tokenizer.json").exists():
        (out / "tokenizer.json").write_text((folder / "tokenizer.json").read_text())
    added = json.loads((out / "tokenizer.json").read_text())["added_tokens"]
    end = added[0]["content"]
    (out / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": end, "bos_token": end, "pad_token": end,
         "model_max_length": 256,
         "chat_template": "{% for m in messages %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}"
                          "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"}))
    return out, config


def try_openai(root):
    import openai
    client = openai.OpenAI(base_url=root + "/v1", api_key="none", max_retries=0)
    name = client.models.list().data[0].id
    check(client.models.retrieve(name).id == name, "models.retrieve")
    ask = dict(model=name, prompt="The wind", max_tokens=20, seed=7, temperature=0.9)
    whole = client.completions.create(**ask)
    check(whole.choices[0].finish_reason == "length" and whole.usage.completion_tokens == 20, "a completion")
    parts = list(client.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    check("".join(c.choices[0].text for c in parts if c.choices) == whole.choices[0].text, "the stream's text")
    check(parts[-1].usage.completion_tokens == 20 and not parts[-1].choices, "the stream's usage")
    many = client.completions.create(**{**ask, "prompt": ["The", "A"]}, n=3, logprobs=3, echo=True)
    check([c.index for c in many.choices] == list(range(6)), "indices of choices")
    for c in many.choices:
        check(c.logprobs.token_logprobs[0] is None, "the first number is null")
        for token, number, top in list(zip(c.logprobs.tokens, c.logprobs.token_logprobs, c.logprobs.top_logprobs))[1:]:
            check(top[token] == number, "the chosen token's number")
        for token, at in zip(c.logprobs.tokens, c.logprobs.text_offset):
            check(token.startswith("bytes:") or c.text[at:].startswith(token), "text_offset")
    chat = dict(model=name, messages=[{"role": "user", "content": "Who?"}], max_completion_tokens=15, seed=3)
    answer = client.chat.completions.create(**chat, logprobs=True, top_logprobs=2)
    check(answer.choices[0].message.role == "assistant", "a chat's role")
    data = b"".join(bytes(t.bytes) for t in answer.choices[0].logprobs.content)
    check(data.decode(errors="replace").strip() == answer.choices[0].message.content.strip(), "bytes of tokens")
    text = "".join(c.choices[0].delta.content or "" for c in client.chat.completions.create(**chat, stream=True))
    check(text == answer.choices[0].message.content, "the stream of a chat")
    follow = [*chat["messages"], answer.choices[0].message.model_dump(), {"role": "user", "content": "And?"}]
    check(client.chat.completions.create(**{**chat, "messages": follow}).usage.prompt_tokens > 5, "a second turn")
    for error, words in ((openai.BadRequestError, dict(extra_body={"tools": [{"type": "function"}]})),
                         (openai.BadRequestError, dict(max_completion_tokens=10 ** 6)),
                         (openai.NotFoundError, dict(model="other"))):
        try:
            client.chat.completions.create(**{**chat, **words})
            check(False, f"{words} is refused")
        except error as e:
            check(e.body["message"], "an error's words")
            if "max_completion_tokens" in words:
                check(e.code == "context_length_exceeded", "its code")

    async def together():
        many = openai.AsyncOpenAI(base_url=root + "/v1", api_key="none", max_retries=0)

        async def one(i):
            stream = await many.completions.create(**{**ask, "seed": i, "max_tokens": 30}, stream=True)
            return "".join([c.choices[0].text async for c in stream])
        alone = [await one(i) for i in range(9)]
        check(await asyncio.gather(*map(one, range(9))) == alone, "texts alone and in company")
    asyncio.run(together())


def evaluate(out, *words):
    done = subprocess.run([sys.executable, "-m", "lm_eval", "--include_path", str(folder / "tasks"), "--tasks",
                           "winds,hills", "--output_path", str(out), "--batch_size", "1", *words], text=True,
                          capture_output=True, env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"})
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return json.loads(next(out.rglob("results*.json")).read_text())["results"]


def try_lm_eval(root, hf):
    tasks = folder / "tasks"
    tasks.mkdir()
    with open(tasks / "rows.jsonl", "w") as rows:
        for i in range(40):
            answers = [" blows over", " hills the", " 9 äß", " over"]
            rows.write(json.dumps({"q": f"The wind number {i * i}", "a": answers, "label": i % 4,
                                   "text": f"The wind number {i} blows over the hills. " * 3}) + "\n")
    common = f"dataset_path: json\ndataset_kwargs:\n  data_files: {tasks}/rows.jsonl\ntest_split: train\n"
    (tasks / "winds.yaml").write_text(
        f"task: winds\n{common}output_type: multiple_choice\ndoc_to_text: q\ndoc_to_choice: a\ndoc_to_target: label\n"
        "metric_list:\n  - metric: acc\n  - metric: acc_norm\n")
    (tasks / "hills.yaml").write_text(
        f"task: hills\n{common}output_type: loglikelihood_rolling\ndoc_to_text: ''\ndoc_to_target: text\n"
        "metric_list:\n  - metric: bits_per_byte\n  - metric: word_perplexity\n")
    ours = evaluate(folder / "ours", "--model", "local-completions", "--model_args",
                    f"model=hf,base_url={root}/v1/completions,tokenizer={hf},num_concurrent=4,max_length=256")
    remote = evaluate(folder / "remote", "--model", "local-completions", "--model_args",
                      f"model=hf,base_url={root}/v1/completions,tokenizer_backend=remote,max_length=256")
    theirs = evaluate(folder / "theirs", "--model", "hf", "--model_args",
                      f"pretrained={hf},dtype=float32,max_length=256", "--device", "cpu")
    for task in ("winds", "hills"):
        for metric, value in theirs[task].items():
            if isinstance(value, float) and "stderr" not in metric:
                print(task, metric, value, ours[task][metric], remote[task][metric])
                for mine in (ours, remote):
                    check(abs(mine[task][metric] - value) <= 1e-4 * max(1, abs(value)), f"{task} {metric}")


def try_score(hf):
    """`bora score` of pairs with contexts of all lengths, against the harness's own numbers."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM
    pairs = [("", "The wind"), ("The wind ", "number 1"), ("äöü", " and"), ("The wind number", " 9"), ("a", "\nb")]
    pairs += [("The wind number 144 blows over the hills. " * n, "The wind") for n in range(1, 40, 6)]
    lines = "".join(json.dumps({"context": c, "continuation": d}) + "\n" for c, d in pairs)
    (folder / "pairs.jsonl").write_text(lines)
    ours = [json.loads(line) for line in run("score", hf, folder / "pairs.jsonl").splitlines()]
    # Its cache takes scores of another pair where two of them are the same tokens, cut at different places.
    harness = HFLM(pretrained=str(hf), device="cpu", batch_size=1, dtype="float32", max_length=256, logits_cache=False)
    theirs = harness.loglikelihood([Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)])
    check(len(ours) == len(theirs), "a score for each pair")
    for i, (mine, (logprob, greedy)) in enumerate(zip(ours, theirs)):
        check(mine["index"] == i and mine["greedy"] == greedy, f"score of pair {i}: greedy")
        check(abs(mine["logprob"] - logprob) <= 1e-4 * max(1, abs(logprob)), f"score of pair {i}: {mine} {logprob}")


hf, _ = make_model()
try_score(hf)
with Server(hf) as server:
    try_openai(server.root)
    try_lm_eval(server.root, hf)
print(f"{checks} checks")
