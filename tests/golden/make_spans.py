"""Writes spans.txt: T5's span corruption (t5/data/preprocessors.py), written out with numpy, for tests/data.

Lines: 'lengths density mean first_encoder_length : tokens/decoder ...' for growing encoder lengths ('-' where T5
contradicts itself: lengths count the noise in f64, masks in f32, and at 190 tokens 28.5 is rounded to 28 and to 29),
and 'spans tokens density mean : starts of noise, starts of text, noise mask, inputs, targets' with starts shuffled by
numpy.
Usage: python make_spans.py > spans.txt
"""
import numpy as np

SENTINEL, END = 999, 1


def lengths(inputs_length, density, mean):
    """random_spans_helper, one extra token for each span on both sides."""
    def corrupted(tokens):
        noise = int(round(tokens * density))
        spans = int(round(noise / mean))
        return tokens - noise + spans + 1, noise + spans + 1
    tokens = inputs_length
    while corrupted(tokens + 1)[0] <= inputs_length:
        tokens += 1
    inputs_length, targets_length = corrupted(tokens)
    if density == 0.5 and targets_length > inputs_length:
        tokens -= 1
        targets_length -= 1
    return tokens, targets_length


def shuffled_starts(items, segments, random):
    return random.permutation((np.arange(items - 1) < segments - 1).astype(int))


def segment_lengths(starts):
    segment_id = np.cumsum(np.concatenate([[0], starts]))
    return np.bincount(segment_id)


def counts(length, density, mean):
    length = max(length, 2)
    noise = int(np.round(np.float32(length) * np.float32(density)))
    noise = min(max(noise, 1), length - 1)
    return noise, max(int(np.round(np.float32(noise) / np.float32(mean))), 1), length - noise


def noise_mask(length, noise_starts, text_starts):
    interleaved = np.stack([segment_lengths(text_starts), segment_lengths(noise_starts)], axis=1).reshape(-1)
    starts = np.cumsum(interleaved)[:-1]
    indicator = np.zeros(max(length, 2), int)
    np.add.at(indicator, starts, 1)
    return (np.cumsum(indicator) % 2 == 1)[:length]


def to_unique_sentinel(tokens, mask):
    before = np.concatenate([[False], mask[:-1]])
    first, following = mask & ~before, mask & before
    sentinel = SENTINEL + 1 - np.cumsum(first)
    return np.where(first, sentinel, tokens)[~following]


def agree(tokens, density, mean):
    """Whether lengths and mask have the same noise, for as many tokens as the lengths may have tried."""
    def in_f64(n):
        noise = int(round(n * density))
        return noise, int(round(noise / mean))
    return all(in_f64(n) == counts(n, density, mean)[:2] for n in (tokens, tokens + 1, tokens + 2))


def commas(values):
    return ",".join(str(int(v)) for v in values) or "-"


print(f"# numpy {np.__version__}")
for density, mean in ((0.15, 3), (0.15, 2), (0.3, 4.5), (0.5, 3), (0.5, 10), (0.25, 2)):
    found = [lengths(n, density, mean) for n in range(24, 560)]
    print("lengths", density, mean, 24, ":", *(f"{t}/{d}" if agree(t, density, mean) else "-" for t, d in found))
random = np.random.default_rng(11)
for length in (1, 2, 3, 5, 8, 13, 40, 97, 160):
    for density, mean in ((0.15, 3), (0.5, 3), (0.3, 1.5), (0.05, 20)):
        noise, spans, text = counts(length, density, mean)
        starts = shuffled_starts(noise, spans, random), shuffled_starts(text, spans, random)
        mask = noise_mask(length, *starts)
        tokens = np.arange(100, 100 + length)
        inputs, targets = to_unique_sentinel(tokens, mask), to_unique_sentinel(tokens, ~mask)
        print("spans", length, density, mean, ":", *map(commas, (*starts, mask, [*inputs, END], [*targets, END])))
