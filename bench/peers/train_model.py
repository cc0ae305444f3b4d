"""train_model.py - sizes, first values and batches of the decoder, as in examples/train/train_model.h."""
import numpy as np

WORDS, WIDTH, HEADS, HIDDEN, LAYERS, BATCH, LENGTH = 64, 128, 4, 256, 2, 8, 64
HEAD = WIDTH // HEADS
BETA_1, BETA_2, EPSILON, NORM_EPSILON, RATE = 0.9, 0.99, 1e-6, 1e-5, 1e-3

LAYER = [((WIDTH,), 0)] + [((WIDTH, WIDTH), 0.09)] * 3 + [((WIDTH, WIDTH), 0.05), ((WIDTH,), 0)]
LAYER += [((WIDTH, HIDDEN), 0.09)] * 2 + [((HIDDEN, WIDTH), 0.05)]
PARAMETERS = [((WORDS, WIDTH), 0.5), ((WIDTH,), 0), ((WIDTH, WORDS), 0.09)] + LAYER * LAYERS


def numbers(seed):
    while True:
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        yield seed >> 8


def first_parameters():
    made = []
    for i, (shape, scale) in enumerate(PARAMETERS):
        source = numbers((i * 2654435761 + 12345) & 0xFFFFFFFF)
        count = int(np.prod(shape))
        units = np.array([next(source) for _ in range(count)], np.float32) / np.float32(1 << 23) - np.float32(1)
        made.append((units * np.float32(scale) if scale else np.ones(count, np.float32)).reshape(shape))
    return made


def tokens(step):
    source, rows = numbers(step * 7919 + 17), np.zeros((BATCH, LENGTH + 1), np.int32)
    for row in range(BATCH):
        for i in range(LENGTH + 1):
            anything, noise = next(source) % WORDS, next(source) % 8
            follows = anything if i < 1 else (5 * rows[row, i - 1] + 7) % WORDS
            rows[row, i] = anything if noise == 0 else follows
    return rows[:, :-1].copy(), rows[:, 1:].copy()


def adam_rate(step):
    return RATE * (1 - BETA_2**step) ** 0.5 / (1 - BETA_1**step)
