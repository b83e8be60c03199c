"""Writes a dataset of the size and form of ImageNet's validation set: tiny JPEGs, val_map.txt with what a small model
says of each, and SHA256SUMS; beside the folder that model.

    python imagenet.py FOLDER [COUNT]

writes FOLDER/images with COUNT pictures (50,000 unless given) and FOLDER/model.onnx, which answers as ResNet50 does:
f32[N,3,224,224] in, f32[N,1000] out. The labels come from ONNX Runtime and the pre-processing of images.py, neither of
which is the product's. Needs numpy, onnx, onnxruntime and pillow (requirements.txt). The same versions write the same
files, which are never committed.
"""

import argparse
import hashlib
import io
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from graph import Graph, value
from images import preprocessed
from onnx import TensorProto
from PIL import Image

SIDE = 16
BATCH = 250


def model():
    """Sees the mean of 16 fields of each colour, and weighs them for each class."""
    g = Graph(3)
    fields = g.node("AveragePool", "image", kernel_shape=[56, 56], strides=[56, 56])
    rows = g.node("Flatten", fields, axis=1)
    weights = g.constant(g.random.standard_normal((48, 1000)))
    g.node("MatMul", rows, weights, name="logits")
    image = value("image", TensorProto.FLOAT, "N", 3, 224, 224)
    return g.model("fields", [image], [value("logits", TensorProto.FLOAT, "N", 1000)])


def picture(number):
    """16 fields of any colour, as a JPEG."""
    fields = np.random.default_rng(number).integers(0, 256, (4, 4, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(fields.repeat(SIDE // 4, 0).repeat(SIDE // 4, 1)).save(file, "JPEG", quality=95)
    return file.getvalue()


def batch(folder, numbers):
    """Writes these pictures: their lines of val_map.txt and of SHA256SUMS."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    labels, sums, samples = [], [], []
    for number in numbers:
        name, bytes_ = f"tiny_{number:05}.jpg", picture(number)
        (folder / "images" / name).write_bytes(bytes_)
        samples.append(preprocessed(io.BytesIO(bytes_)))
        labels.append(name)
        sums.append(f"{hashlib.sha256(bytes_).hexdigest()}  {name}\n")
    [logits] = session.run(None, {"image": np.stack(samples)})
    return [f"{name} {label}\n" for name, label in zip(labels, logits.argmax(1))], sums


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder to write")
    parser.add_argument("count", type=int, metavar="COUNT", nargs="?", default=50_000, help="number of pictures")
    args = parser.parse_args()
    folder, count = args.folder, args.count
    (folder / "images").mkdir(parents=True, exist_ok=True)
    onnx.save(model(), folder / "model.onnx")
    batches = [range(first, min(first + BATCH, count)) for first in range(0, count, BATCH)]
    labels, sums = [], []
    with ProcessPoolExecutor() as pool:
        for number, (some_labels, some_sums) in enumerate(pool.map(batch, [folder] * len(batches), batches)):
            labels += some_labels
            sums += some_sums
            print(f"\r{len(labels)} of {count} pictures", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    text = "".join(labels)
    (folder / "images/val_map.txt").write_text(text)
    sums.append(f"{hashlib.sha256(text.encode()).hexdigest()}  val_map.txt\n")
    (folder / "images/SHA256SUMS").write_text("".join(sums))
    print(f"{folder}: {count} pictures of {len({line.split()[1] for line in labels})} classes")


if __name__ == "__main__":
    main()
