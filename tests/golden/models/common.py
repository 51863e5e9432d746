"""What the scripts make_FAMILY.py share: a folder of a tiny random model, as `transformers` writes it, with golden
results beside it.

Development only: python make_FAMILY.py (torch 2.13.0, transformers 5.23.0, CPU), which makes the folders NAME/ here:
  config.json, generation_config.json, model.safetensors      by save_pretrained
  golden.safetensors:
    ids i32 [batch, position], mask i32 (1: a token, 0: padding, on the right), labels i32 (-100: ignored);
      of an encoder-decoder ids and mask are the encoder's, labels the decoder's, decoder_ids its inputs;
      of an encoder alone labels are of their own position, and there may be token_types
      of a class or a number for a text the labels are at its first token, values f32 [batch] are the numbers
      of an answer's span its first and last place are the labels at the places 0 and 1
    logits f32 [batch, position, vocab], or [batch, classes]; no numbers of note where the mask is 0; of spans the two
      scores of each position, of the first and of the last place
    loss f32: the mean over labels that are not -100; causal models shift them, encoders do not
    grad.<tensor> of one step; adamw4.<tensor> after four steps of AdamW (lr 1e-2, betas 0.9 0.999, eps 1e-8, weight
      decay 0.1 for all tensors) on the same batch. NaN in adamw4: the number depends on rounding (its gradient is close
      to zero, which AdamW divides by itself): with the rows in another order PyTorch's differs by more than 5e-6.
Results are computed in f64 where the model's code allows it.
"""
import copy
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
IGNORED = -100


def randomize(model, seed, std=0.3):
    """Numbers large enough to make a mistake visible, also in biases and norms."""
    random = np.random.RandomState(seed)
    for name, p in model.named_parameters():  # tied ones once
        x = random.standard_normal(tuple(p.shape))
        if p.ndim == 1:
            is_norm = name.endswith("weight") and bool(torch.all(p == 1))
            x = 1 + 0.2 * x if is_norm else 0.1 * x
        else:
            x = std * x
        p.data.copy_(torch.tensor(x, dtype=p.dtype))


def tokens(config, seed, batch, length):
    """ids, mask and labels [batch, length]; the second row ends with two padding tokens."""
    random = np.random.RandomState(seed + 1)
    ids = random.randint(3, config.vocab_size, (batch, length))
    mask = np.ones((batch, length), np.int64)
    mask[1, -2:] = 0
    ids[mask == 0] = config.pad_token_id or 0
    labels = np.where(mask == 1, ids, IGNORED)
    labels[2, 3:5] = IGNORED
    return ids, mask, labels


def train(model, inputs):
    """logits, loss, {name: gradient}, {name: parameter after four steps}."""
    logits, loss, grads = None, None, None
    inputs = {k: v.to(model.dtype) if torch.is_tensor(v) and v.is_floating_point() else v for k, v in inputs.items()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1)
    for step in range(4):
        optimizer.zero_grad()
        out = model(**inputs)
        out.loss.backward()
        if step == 0:
            scores = torch.stack([out.start_logits, out.end_logits], -1) if "start_logits" in out else out.logits
            logits, loss = scores.detach().numpy().copy(), float(out.loss)
            grads = {n: p.grad.numpy().copy() for n, p in model.named_parameters()}
        optimizer.step()
    return logits, loss, grads, {n: p.detach().numpy().copy() for n, p in model.named_parameters()}


def make(name, model, seed=0, batch=3, length=8, decoder_length=None, double=True, std=0.3, in_files=None,
         types=None, classes=None):
    """Writes the folder. `model` is f32, of any class *ForCausalLM or *ForMaskedLM, or *ForConditionalGeneration with
    decoder_length, on attn_implementation="eager". double: whether the code runs in f64. in_files: (parameter, array)
    -> {tensor: array}, where the files hold parameters under other names or in parts. types: of tokens. classes: of
    *ForTokenClassification and *ForSequenceClassification; 1: a number. Models *ForQuestionAnswering have spans."""
    folder = os.path.join(HERE, name)
    model = model.float().eval()  # no dropout
    randomize(model, seed, std)
    config = model.config
    ids, mask, labels = tokens(config, seed, batch, length)
    golden = {"ids": ids, "mask": mask, "labels": labels}
    if decoder_length:
        _, _, golden["labels"] = tokens(config, seed + 7, batch, decoder_length)
        shifted = model.prepare_decoder_input_ids_from_labels(torch.tensor(golden["labels"]))
        golden["decoder_ids"] = shifted.numpy()
    inputs = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask),
              "labels": torch.tensor(golden["labels"])}
    if types:
        golden["token_types"] = np.sort(np.random.RandomState(seed + 2).randint(0, types, (batch, length)), axis=1)
        inputs["token_type_ids"] = torch.tensor(golden["token_types"])
    random, kind = np.random.RandomState(seed + 3), type(model).__name__
    if classes:
        drawn = random.randint(0, classes, (batch, length))
        of_texts = "Sequence" in kind
        golden["labels"] = np.where((np.arange(length) == 0) if of_texts else mask == 1, drawn, IGNORED)
        inputs["labels"] = torch.tensor(golden["labels"][:, 0] if of_texts else golden["labels"])
    if classes == 1:
        golden["values"] = random.standard_normal(batch).astype(np.float32)
        inputs["labels"] = torch.tensor(golden["values"])
    spans = "QuestionAnswering" in kind
    if spans:
        places = np.sort(random.randint(0, length - 2, (batch, 2)), axis=1)
        golden["labels"] = np.full((batch, length), IGNORED)
        golden["labels"][:, :2] = places
        del inputs["labels"]
        inputs["start_positions"], inputs["end_positions"] = torch.tensor(places[:, 0]), torch.tensor(places[:, 1])
    if "MaskedLM" not in kind and not classes and not spans:
        inputs["use_cache"] = False
    model.save_pretrained(folder)
    turned = train(copy.deepcopy(model), {k: v.flip(0) if k != "use_cache" else v for k, v in inputs.items()})
    logits, loss, grads, after = train(copy.deepcopy(model).double() if double else copy.deepcopy(model), inputs)
    golden = {k: v if k == "values" else v.astype(np.int32) for k, v in golden.items()}
    golden["logits"] = logits.astype(np.float32)
    golden["loss"] = np.array(loss, np.float32)
    if in_files:
        grads, after, other = ({t: x for n, a in all.items() for t, x in in_files(n, a).items()}
                               for all in (grads, after, turned[3]))
        turned = (*turned[:3], other)
    unclear, top = 0, max(np.abs(g).max() for g in grads.values())
    for n, g in grads.items():
        golden["grad." + n] = g.astype(np.float32)
        x = after[n].astype(np.float32)
        x[np.abs(after[n] - turned[3][n]) > 5e-6] = np.nan
        x[np.abs(g) < 1e-6 * top] = np.nan
        x = np.where(g == 0, after[n].astype(np.float32), x)  # never trained: weight decay alone
        if n.endswith(("self.key.bias", "k_lin.bias")):
            x[:] = np.nan  # adds the same to all scores of a query: its gradient is 0 but for rounding
        if spans and n.endswith(("qa_outputs.bias", "layer.0.output.LayerNorm.bias", "output_layer_norm.bias",
                                 "classifier.bias")):
            x[:] = np.nan  # adds the same to the scores of all positions
        unclear += np.isnan(x).sum()
        golden["adamw4." + n] = x
    parameters = sum(p.numel() for p in model.parameters())
    assert unclear < 0.02 * parameters, f"{name}: {unclear} of {parameters} numbers depend on rounding"
    save_file({k: np.ascontiguousarray(v) for k, v in golden.items()}, os.path.join(folder, "golden.safetensors"))
    print(f"{name}: {parameters} parameters, {unclear} unclear, loss {loss:.6f}, logits to {np.abs(logits).max():.1f}, "
          f"f32 differs by {np.abs(logits - turned[0][::-1]).max():.1e}")
