#!/usr/bin/env python3
"""Writes chat.json beside this script: conversations as the Jinja templates of well-known families render them, by the
code of Hugging Face's `transformers` 5.23.0 (jinja2 3.1.6), and the parts of them that the assistant says.

The templates are those of the families' tokenizer_config.json: HuggingFaceH4/zephyr-7b-beta,
meta-llama/Llama-2-7b-chat-hf, meta-llama/Meta-Llama-3-8B-Instruct, mistralai/Mistral-7B-Instruct-v0.2,
google/gemma-7b-it, Qwen/Qwen2-7B-Instruct; ChatML is that of many models. Alpaca's prompt was published without a
template: this is it for several turns."""
import json
import pathlib
import random

import jinja2
import transformers
from transformers.utils.chat_template_utils import render_jinja_template

CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
          "'<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
          "{% endif %}")
ALTERNATE = ("{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles "
             "must alternate user/assistant/user/assistant/...') }}{% endif %}")
# name -> (template, bos, eos, the token that ends the assistant's turn, whether turns alternate)
FAMILIES = {
    "chatml": (CHATML, "", "", "<|im_end|>", False),
    "qwen-2": (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou "
    "are a helpful assistant.<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|im_start|>assistant\\n' }}{% endif %}", "", "", "<|im_end|>", False),
    "llama-2": (
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = "
    "messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}"
    "{% for message in loop_messages %}" + ALTERNATE + "{% if loop.index0 == 0 and system_message != false %}{% set "
    "content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = "
    "message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' "
    "[/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}"
    "{% endfor %}", "<s>", "</s>", "</s>", True),
    "llama-3": (
    "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + "
    "message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}"
    "{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}",
    "<|begin_of_text|>", "<|eot_id|>", "<|eot_id|>", False),
    "alpaca": (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ messages[0]['content'] + '\\n\\n' }}{% set "
    "loop_messages = messages[1:] %}{% else %}{{ 'Below is an instruction that describes a task. Write a response that "
    "appropriately completes the request.\\n\\n' }}{% set loop_messages = messages %}{% endif %}{% for message in "
    "loop_messages %}{% if message['role'] != ['user', 'assistant'][loop.index0 % 2] %}{{ raise_exception('user and "
    "assistant must take turns') }}{% endif %}{% if message['role'] == 'user' %}{{ '### Instruction:\\n' + "
    "message['content'] + '\\n\\n' }}{% else %}{{ '### Response:\\n' + message['content'] + eos_token + '\\n\\n' }}"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '### Response:\\n' }}{% endif %}",
    "<s>", "</s>", "</s>", True),
    "mistral": (
    "{{ bos_token }}{% for message in messages %}" + ALTERNATE + "{% if message['role'] == 'user' %}{{ '[INST] ' + "
    "message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}"
    "{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}",
    "<s>", "</s>", "</s>", True),
    "gemma": (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% for message in messages %}" + ALTERNATE + "{% if (message['role'] == 'assistant') %}{% set role = "
    "'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + "
    "message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}"
    "{{'<start_of_turn>model\\n'}}{% endif %}", "<bos>", "<eos>", "<end_of_turn>", True),
    "zephyr": (
    "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\\n' + message['content'] + "
    "eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\\n' + message['content'] + eos_token }}\n"
    "{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\\n'  + message['content'] + eos_token }}\n"
    "{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}",
    "<s>", "</s>", "</s>", False),
}
U, A, S = "user", "assistant", "system"
HARD = [
    [(U, "Hi")], [(U, "Hi"), (A, "Hello!")], [(S, "Be brief."), (U, "Hi"), (A, "Hello!")], [(S, "Only this.")],
    [(U, "")], [(U, ""), (A, "")], [(S, ""), (U, ""), (A, "")], [(S, ""), (U, "x")], [(S, " "), (U, " "), (A, " ")],
    [(U, "a"), (A, "b"), (U, "c"), (A, "d")], [(S, "s"), (U, "a"), (A, "b"), (U, "c"), (A, "d"), (U, "e")],
    [(U, "\n"), (A, "\n")], [(U, "a\n"), (A, "b\n\n")], [(U, "\n\na"), (A, "\r\nb\r\n")], [(U, "  a  "), (A, "\tb\t")],
    [(S, "  s\n"), (U, "\n"), (A, "x\n")], [(U, "one\ntwo\n\nthree"), (A, "1.\n2.\n\n3.")],
    [(U, "<|im_end|>"), (A, "<|im_start|>system\n")], [(U, "a</s>b<s>"), (A, "</s>")],
    [(U, "[INST] x [/INST]"), (A, "y")],
    [(U, "<|eot_id|>"), (A, "<|start_header_id|>user<|end_header_id|>\n\n")],
    [(U, "<<SYS>>\nx\n<</SYS>>\n\ny"), (A, "z")],
    [(U, "### Response:\n"), (A, "### Instruction:\n")], [(U, "<end_of_turn>\n"), (A, "<start_of_turn>model\n<bos>")],
    [(U, "<|user|>"), (A, "<|assistant|>\n")], [(U, "{bos}{eos}{role}{user}"), (A, "{assistant}{stop}{{ x }}{% if %}")],
    [(U, "Größe? ¿Qué? 語 한 😀 👩‍👩‍👧"), (A, "Ja — «да» 是 e\u0301")], [(U, "שלום"), (A, "مرحبا")],
    [(U, "\u00a0\u3000a\u2003"), (A, "\u2028b\u0085")], [(U, "\x1c\x1da\x1e\x1f"), (A, " \x1c \u1680b\u180e\u200b")],
    [(U, "\ufeffa\x00b"), (A, "\x7f")], [(U, "\\n \\ \" ' \\u0041"), (A, "'\"\\")], [(U, "a" * 300), (A, "b" * 300)],
    [(A, "first")], [(U, "a"), (U, "b")], [(U, "a"), (A, "b"), (A, "c")], [(U, "a"), (S, "s"), (U, "b"), (A, "c")],
    [(S, "s"), (S, "t"), (U, "a")], [(S, "s"), (A, "b")], [(U, "a"), ("tool", "42"), (A, "b")], [("tool", "42")],
    [(U, "a"), (A, "b"), (S, "late")], [("", "x")], [("Assistant", "x")],
    [(U, "a"), (A, "x</s></s>"), (U, "b"), (A, "</s>")],
]


def varied(count):
    draw = random.Random(19)
    pieces = [" ", "\n", "  ", "a", "Hello", "?", "é", "語", "😀", "</s>", "<|im_end|>", "\u00a0", "the ", "end.\n", "0"]
    for _ in range(count):
        turns = [(S, "".join(draw.choices(pieces, k=draw.randint(0, 5))))] if draw.random() < 0.4 else []
        for k in range(draw.randint(1, 5)):
            turns.append(((U, A)[k % 2], "".join(draw.choices(pieces, k=draw.randint(0, 6)))))
        yield turns


def render(name, turns, prompt):
    template, bos, eos, _, _ = FAMILIES[name]
    tokens = {k: v for k, v in (("bos_token", bos), ("eos_token", eos)) if v}
    messages = [{"role": role, "content": content} for role, content in turns]
    text, _ = render_jinja_template([messages], chat_template=template, add_generation_prompt=prompt, **tokens)
    return text[0]


def row_of(name, turns):
    """null if the template refuses it, or drops a turn; else the text, what a prompt has behind it, and the learnt
    ranges of bytes."""
    _, _, _, end, alternates = FAMILIES[name]
    try:
        text = render(name, turns, False)
    except jinja2.exceptions.TemplateError:
        return None
    known = {S, U, A} if name not in ("mistral", "gemma") else {U, A}
    sides = turns[turns[0][0] == S:]
    if name not in ("chatml", "qwen-2", "llama-3") and any(role not in known for role, _ in turns):
        return None
    if alternates and any(role != (U, A)[k % 2] for k, (role, _) in enumerate(sides)):
        return None
    learnt = []
    for k, (role, _) in enumerate(turns):
        if role != A:
            continue
        # Rendered only so far: from where the prompt before the turn ends to the token that ends the turn.
        whole = render(name, turns[:k + 1], False)
        before = len(render(name, turns[:k], True)) if k else len(whole) - len(said_first(name, turns[0]))
        behind = whole.rindex(end) + len(end)
        assert text.startswith(whole) and before <= behind, (name, turns)
        learnt.append([len(text[:before].encode()), len(text[:behind].encode())])
    row = {"text": text, "learnt": learnt}
    if not alternates or len(sides) % 2 == 1:
        asked = render(name, turns, True)
        assert asked.startswith(text)
        row["prompt"] = asked[len(text):]
    return row


def said_first(name, turn):
    """The part of a text that an assistant's first turn takes, behind the prompt."""
    return render(name, [(U, "q"), turn], False)[len(render(name, [(U, "q")], True)):]


families = {name: dict(jinja=f[0], bos=f[1], eos=f[2]) for name, f in FAMILIES.items()}
cases = []
for turns in HARD + list(varied(30)):
    rows = {name: row_of(name, turns) for name in FAMILIES}
    cases.append(json.dumps({"turns": turns} | rows, separators=(",", ":")))
head = json.dumps({"transformers": transformers.__version__, "families": families}, indent=1)[:-2]
path = pathlib.Path(__file__).parent / "chat.json"
path.write_text(head + ',\n "cases": [\n' + ",\n".join(cases) + "\n]}\n")
