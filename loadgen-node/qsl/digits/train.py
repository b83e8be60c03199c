#!/usr/bin/env python3
"""Makes the "digits" benchmark: a small convolutional net and its test images.

    python train.py            train, write every file, then check them
    python train.py --check    check the files that are already there

Files written next to this script (or into --out DIR):

    digits.onnx   the model: `image` uint8 [batch,1,8,8] -> `logits` float32 [batch,10]
    images.npy    uint8 [450,1,8,8], the held-out images, values 0..16
    labels.npy    int64 [450], the digit each image shows
    SHA256SUMS    digests of the three files, for `sha256sum --check`

The images are those of `sklearn.datasets.load_digits`; README.md tells where
they come from. Training is plain numpy with the gradients written out, so the
only heavy thing to install is scikit-learn.
"""

import os

# One thread and one fixed set of kernels: the order in which sums are rounded,
# hence every bit of the weights, must not depend on how many cores there are or
# on whether the processor has more than AVX2. Read when numpy is first imported.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OPENBLAS_CORETYPE"] = "Haswell"

import argparse
import hashlib
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SPLIT_SEED = 20240229
TRAIN_SEED = 1
TEST_SHARE = 0.25
CLASSES = 10
PIXEL_MAX = 16  # the largest value a pixel takes

CHANNELS = (16, 32)  # output channels of the two convolutions
EPOCHS = 120
BATCH = 64
PEAK_RATE = 6e-3
WEIGHT_DECAY = 1e-2
DROPOUT = 0.3
AVERAGED_EPOCHS = 30  # the weights kept are the mean over this many last epochs

OPSET = 13
IR_VERSION = 8
MINIMUM_ACCURACY = 0.97
# The least gap between the two highest logits of any test image, in multiples of
# the largest rounding error seen: below it another engine might answer otherwise.
MINIMUM_HEADROOM = 1000.0
CHECKED_BATCHES = (1, 8, 450)
DATA_FILES = ("digits.onnx", "images.npy", "labels.npy")


# --- data -------------------------------------------------------------------


def load_split():
    """The images [n,1,8,8] uint8 and labels [n] int64, as train and test."""
    digits = load_digits()
    images = digits.images.astype(np.uint8)[:, np.newaxis, :, :]
    assert np.array_equal(images[:, 0], digits.images) and images.max() == PIXEL_MAX
    labels = digits.target.astype("<i8")
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=TEST_SHARE, stratify=labels, random_state=SPLIT_SEED
    )
    return train_x, train_y, np.ascontiguousarray(test_x), np.ascontiguousarray(test_y)


def distort(images, rng):
    """Each image [n,8,8] rotated, scaled, sheared and shifted a little at random."""
    n, side = len(images), images.shape[1]
    angle = rng.uniform(-0.2, 0.2, n)
    scale_y, scale_x = rng.uniform(0.9, 1.12, (2, n))
    shear = rng.uniform(-0.15, 0.15, n)
    shift_y, shift_x = rng.uniform(-0.8, 0.8, (2, n))

    middle = (side - 1) / 2
    y, x = np.mgrid[:side, :side] - middle
    column = (slice(None), np.newaxis, np.newaxis)
    cos, sin = np.cos(angle)[column], np.sin(angle)[column]
    from_y = (cos * y - sin * x) * scale_y[column] + shift_y[column] + middle
    from_x = (sin * y + cos * x + shear[column] * y) * scale_x[column] + shift_x[column] + middle

    # Bilinear reading, with zeros all around the image.
    margin = 6
    padded = np.pad(images, ((0, 0), (margin, margin), (margin, margin)))
    from_y = np.clip(from_y + margin, 0, side + 2 * margin - 2)
    from_x = np.clip(from_x + margin, 0, side + 2 * margin - 2)
    y0, x0 = from_y.astype(int), from_x.astype(int)
    fy, fx = from_y - y0, from_x - x0
    which = np.arange(n)[column]
    return (
        padded[which, y0, x0] * (1 - fy) * (1 - fx)
        + padded[which, y0, x0 + 1] * (1 - fy) * fx
        + padded[which, y0 + 1, x0] * fy * (1 - fx)
        + padded[which, y0 + 1, x0 + 1] * fy * fx
    ).astype(np.float32)


# --- net --------------------------------------------------------------------
# Inside the trainer an activation is [batch, row, column, channel] and a
# convolution's weight is a matrix [9 * channels in, channels out].


def initial_weights(rng):
    first, second = CHANNELS
    flat = 4 * 4 * second

    def he(rows, columns):
        return (rng.standard_normal((rows, columns)) * np.sqrt(2 / rows)).astype(np.float32)

    return {
        "conv1_w": he(9, first),
        "conv1_b": np.zeros(first, np.float32),
        "conv2_w": he(9 * first, second),
        "conv2_b": np.zeros(second, np.float32),
        "fc_w": he(flat, CLASSES) * np.float32(0.5),
        "fc_b": np.zeros(CLASSES, np.float32),
    }


def patches(x):
    """The 3x3 surroundings of every pixel, zero-padded: [batch*rows*columns, 9*channels]."""
    n, h, w, c = x.shape
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = [padded[:, i : i + h, j : j + w] for i in range(3) for j in range(3)]
    return np.concatenate(taps, axis=3).reshape(n * h * w, 9 * c)


def patches_backward(grad, shape):
    """Adds what each patch element received back onto the pixel it came from."""
    n, h, w, c = shape
    grad = grad.reshape(n, h, w, 9, c)
    padded = np.zeros((n, h + 2, w + 2, c), np.float32)
    for tap in range(9):
        i, j = divmod(tap, 3)
        padded[:, i : i + h, j : j + w] += grad[:, :, :, tap]
    return padded[:, 1:-1, 1:-1]


def forward(p, x, drop=None):
    """Logits of the images x [batch,8,8,1], and what the backward pass needs."""
    n = len(x)
    cols1 = patches(x)
    act1 = np.maximum(cols1 @ p["conv1_w"] + p["conv1_b"], 0).reshape(n, 8, 8, -1)
    cols2 = patches(act1)
    act2 = np.maximum(cols2 @ p["conv2_w"] + p["conv2_b"], 0)
    # 2x2 max pooling: bring the four members of a window to one axis.
    windows = act2.reshape(n, 4, 2, 4, 2, -1).transpose(0, 1, 3, 5, 2, 4).reshape(n, -1, 4)
    winner = windows.argmax(axis=2)
    flat = np.take_along_axis(windows, winner[..., np.newaxis], axis=2)[..., 0]
    if drop is not None:
        flat = flat * drop
    return flat @ p["fc_w"] + p["fc_b"], (cols1, act1, cols2, act2, winner, flat)


def gradients(p, x, target, drop):
    """The loss of a batch and its gradient for every weight."""
    n = len(x)
    logits, (cols1, act1, cols2, act2, winner, flat) = forward(p, x, drop)
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(n)
    loss = -log_p[rows, target].mean()

    d_logits = np.exp(log_p)
    d_logits[rows, target] -= 1
    d_logits /= n
    g = {"fc_w": flat.T @ d_logits, "fc_b": d_logits.sum(axis=0)}

    d_flat = (d_logits @ p["fc_w"].T) * drop
    d_windows = np.zeros((*d_flat.shape, 4), np.float32)
    np.put_along_axis(d_windows, winner[..., np.newaxis], d_flat[..., np.newaxis], axis=2)
    d_act2 = d_windows.reshape(n, 4, 4, -1, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(act2.shape)
    d_act2 *= act2 > 0
    g["conv2_w"], g["conv2_b"] = cols2.T @ d_act2, d_act2.sum(axis=0)

    d_act1 = patches_backward(d_act2 @ p["conv2_w"].T, act1.shape) * (act1 > 0)
    d_act1 = d_act1.reshape(len(cols1), -1)
    g["conv1_w"], g["conv1_b"] = cols1.T @ d_act1, d_act1.sum(axis=0)
    return loss, g


def train(images, labels, seed=TRAIN_SEED, quiet=False):
    """Adam with weight decay, a rate that warms up and then falls along a cosine."""
    rng = np.random.default_rng(seed)
    plain = images[:, 0].astype(np.float32) / PIXEL_MAX
    p = initial_weights(rng)
    mean = {k: np.zeros_like(v) for k, v in p.items()}
    square = {k: np.zeros_like(v) for k, v in p.items()}
    total = {k: np.zeros(v.shape, np.float64) for k, v in p.items()}
    per_epoch = -(-len(plain) // BATCH)
    steps, step, started = EPOCHS * per_epoch, 0, time.monotonic()

    for epoch in range(EPOCHS):
        x = distort(plain, rng)[..., np.newaxis]
        order = rng.permutation(len(x))
        losses = []
        for at in range(0, len(x), BATCH):
            chosen = order[at : at + BATCH]
            keep = rng.random((len(chosen), len(p["fc_w"]))) >= DROPOUT
            drop = keep.astype(np.float32) / np.float32(1 - DROPOUT)
            loss, g = gradients(p, x[chosen], labels[chosen], drop)
            losses.append(loss)
            step += 1
            rate = PEAK_RATE * min(step / (2 * per_epoch), 0.02 + 0.49 * (1 + np.cos(np.pi * step / steps)))
            for k in p:
                mean[k] = np.float32(0.9) * mean[k] + np.float32(0.1) * g[k]
                square[k] = np.float32(0.99) * square[k] + np.float32(0.01) * g[k] ** 2
                move = (mean[k] / np.float32(1 - 0.9**step)) / (
                    np.sqrt(square[k] / np.float32(1 - 0.99**step)) + np.float32(1e-8)
                )
                if k.endswith("_w"):
                    move = move + np.float32(WEIGHT_DECAY) * p[k]
                p[k] = p[k] - np.float32(rate) * move
        if epoch >= EPOCHS - AVERAGED_EPOCHS:
            for k in p:
                total[k] += p[k]
        if not quiet and (epoch + 1) % 20 == 0:
            print(f"epoch {epoch + 1:3d}/{EPOCHS}  loss {np.mean(losses):.4f}  {time.monotonic() - started:5.1f} s")
    return {k: (v / AVERAGED_EPOCHS).astype(np.float32) for k, v in total.items()}


# --- files ------------------------------------------------------------------


def onnx_model(p):
    """The net as ONNX, with the conversion from bytes inside the graph."""
    first, second = CHANNELS

    def conv_weight(matrix, channels_in, channels_out):
        return matrix.reshape(3, 3, channels_in, channels_out).transpose(3, 2, 0, 1)

    # The trainer pools to [rows, columns, channels]; ONNX flattens [channels, rows, columns].
    fc = p["fc_w"].reshape(4, 4, second, CLASSES).transpose(2, 0, 1, 3).reshape(-1, CLASSES)
    constants = {
        "scale": np.array(1 / PIXEL_MAX, np.float32),
        "conv1.weight": conv_weight(p["conv1_w"], 1, first),
        "conv1.bias": p["conv1_b"],
        "conv2.weight": conv_weight(p["conv2_w"], first, second),
        "conv2.bias": p["conv2_b"],
        "fc.weight": fc.T,
        "fc.bias": p["fc_b"],
    }
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    node = helper.make_node
    nodes = [
        node("Cast", ["image"], ["pixels"], name="cast", to=TensorProto.FLOAT),
        node("Mul", ["pixels", "scale"], ["scaled"], name="mul"),
        node("Conv", ["scaled", "conv1.weight", "conv1.bias"], ["conv1"], name="conv1", **window),
        node("Relu", ["conv1"], ["relu1"], name="relu1"),
        node("Conv", ["relu1", "conv2.weight", "conv2.bias"], ["conv2"], name="conv2", **window),
        node("Relu", ["conv2"], ["relu2"], name="relu2"),
        node("MaxPool", ["relu2"], ["pooled"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["pooled"], ["flat"], name="flatten", axis=1),
        node("Gemm", ["flat", "fc.weight", "fc.bias"], ["logits"], name="fc", transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.UINT8, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES])],
        [numpy_helper.from_array(np.ascontiguousarray(v), k) for k, v in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = IR_VERSION
    model.producer_name, model.producer_version = "digits/train.py", ""
    onnx.checker.check_model(model, full_check=True)
    return model


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(folder, model, images, labels):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "digits.onnx").write_bytes(model.SerializeToString(deterministic=True))
    np.save(folder / "images.npy", images)
    np.save(folder / "labels.npy", labels)
    sums = "".join(f"{sha256(folder / name)}  {name}\n" for name in DATA_FILES)
    (folder / "SHA256SUMS").write_text(sums, encoding="ascii", newline="\n")


# --- check ------------------------------------------------------------------


def exact_logits(model, images):
    """Logits of the model's own weights in double precision: the reference for rounding."""
    w = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in model.graph.initializer}
    channels_last = {
        "fc_w": w["fc.weight"].T.reshape(-1, 4, 4, CLASSES).transpose(1, 2, 0, 3).reshape(-1, CLASSES),
        "fc_b": w["fc.bias"],
    }
    for name in ("conv1", "conv2"):
        kernel = w[f"{name}.weight"]
        channels_last[f"{name}_w"] = kernel.transpose(2, 3, 1, 0).reshape(-1, len(kernel))
        channels_last[f"{name}_b"] = w[f"{name}.bias"]
    # The trainer flattens a pooled map row, column, channel.
    logits, _ = forward(channels_last, images[:, 0, :, :, np.newaxis] * w["scale"])
    return logits


def check(folder):
    """Tests the files of a folder; returns whether they are good."""
    good = True

    def expect(what, holds):
        nonlocal good
        good = good and bool(holds)
        print(f"{'ok  ' if holds else 'FAIL'}  {what}")

    listed = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
    for name in DATA_FILES:
        size = (folder / name).stat().st_size
        expect(f"{name}: {size} bytes, sha256 as listed", listed.get(name) == sha256(folder / name))
    if not good:
        return False

    images, labels = np.load(folder / "images.npy"), np.load(folder / "labels.npy")
    _, _, test_x, test_y = load_split()
    expect(
        f"images.npy: {images.dtype} {list(images.shape)}, the test split",
        images.dtype == np.uint8 and images.flags.c_contiguous and np.array_equal(images, test_x),
    )
    expect(
        f"labels.npy: {labels.dtype} {list(labels.shape)}, the test split",
        labels.dtype.str == "<i8" and np.array_equal(labels, test_y),
    )

    path = folder / "digits.onnx"
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    exact = exact_logits(model, images)
    worst_error = 0.0
    for batch in CHECKED_BATCHES:
        parts = [session.run(["logits"], {"image": images[i : i + batch]})[0] for i in range(0, len(images), batch)]
        logits = np.concatenate(parts)
        right = int((logits.argmax(axis=1) == labels).sum())
        error = float(np.abs(logits - exact).max())
        worst_error = max(worst_error, error)
        expect(
            f"ONNX Runtime {ort.__version__}, batch {batch:3d}: accuracy {right}/{len(labels)} = "
            f"{100 * right / len(labels):.2f} %, largest rounding error {error:.1e}",
            logits.dtype == np.float32
            and right / len(labels) > MINIMUM_ACCURACY
            and np.array_equal(logits.argmax(axis=1), exact.argmax(axis=1)),
        )

    ordered = np.sort(exact, axis=1)
    margins = ordered[:, -1] - ordered[:, -2]
    lowest = np.argsort(margins)[:5]
    print("smallest margins between the two highest logits:")
    for i in lowest:
        print(f"      image {i:3d}: margin {margins[i]:.4f}, label {labels[i]}, answer {exact[i].argmax()}")
    print(f"      median {np.median(margins):.2f}; logits range from {exact.min():.1f} to {exact.max():.1f}")
    wrong = np.flatnonzero(exact.argmax(axis=1) != labels)
    print("wrong answers:", ", ".join(f"image {i} ({labels[i]} read as {exact[i].argmax()})" for i in wrong) or "none")
    headroom = margins.min() / worst_error
    expect(f"smallest margin is {headroom:.0f} times the largest rounding error", headroom > MINIMUM_HEADROOM)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only check the files that are there")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent, help="folder of the files")
    options = parser.parse_args()
    if not options.check:
        train_x, train_y, test_x, test_y = load_split()
        write(options.out, onnx_model(train(train_x, train_y)), test_x, test_y)
    return 0 if check(options.out) else 1


if __name__ == "__main__":
    sys.exit(main())
