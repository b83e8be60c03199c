#!/usr/bin/env python3
"""Compares what a SUT node makes of RetinaNet's heads with the steps of MLPerf's reference implementation, and the mAP
of both.

    detections_diff.py --bin FOLDER [--images N] [--seed N]

FOLDER has loadgen-node and sut-node. A model whose outputs are what it is sent stands for the network: so each sample
is the random output of both heads. `sut-node --postprocess retinanet=SIZE` makes boxes of them, `accuracy` scores them.
The same is done in numpy, with NonMaxSuppression of the package onnx and COCOeval of pycocotools. The mAP must be equal
to 1e-9, and every box to 1e-4.
"""

import argparse
import contextlib
import io
import json
import math
import pathlib
import random
import socket
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

SIZE = 128
CLASSES = 3
LIMIT = 1e-9
BENCHMARK = """name = "benchmark"
about = "random heads"
[dataset]
kind = "tensors"
example = "synthetic:u8[1]x1"
[accuracy]
metric = "map"
target = 0.0
"""


def anchors_of_levels():
    """The anchors of each level, as the reference's anchor_utils.py makes them."""
    levels = []
    for level, base in enumerate([32, 64, 128, 256, 512]):
        cells = math.ceil(SIZE / 2 ** (level + 3))
        sides = np.array([int(base * 2 ** (step / 3)) for step in range(3)], np.float32)
        high = np.sqrt(np.array([0.5, 1, 2], np.float32))
        widths = ((1 / high)[:, None] * sides).reshape(-1)
        heights = (high[:, None] * sides).reshape(-1)
        own = np.round(np.stack([-widths, -heights, widths, heights], 1) / 2)
        shifts = np.arange(cells, dtype=np.float32) * (SIZE // cells)
        down, right = (axis.reshape(-1) for axis in np.meshgrid(shifts, shifts, indexing="ij"))
        levels.append((np.stack([right, down, right, down], 1)[:, None] + own[None]).reshape(-1, 4))
    return levels


LEVELS = anchors_of_levels()
COUNT = sum(map(len, LEVELS))


def suppression():
    """NonMaxSuppression as a model of one node."""
    names = ["boxes", "scores", "most", "overlap"]
    types = [TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.INT64, TensorProto.FLOAT]
    shapes = [[1, None, 4], [1, 1, None], [1], [1]]
    inputs = [helper.make_tensor_value_info(*row) for row in zip(names, types, shapes)]
    outputs = [helper.make_tensor_value_info("kept", TensorProto.INT64, [None, 3])]
    graph = helper.make_graph([helper.make_node("NonMaxSuppression", names, ["kept"])], "nms", inputs, outputs)
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


def decoded(anchors, offsets):
    """Corners within the image."""
    widths, heights = anchors[:, 2] - anchors[:, 0], anchors[:, 3] - anchors[:, 1]
    x = offsets[:, 0] * widths + (anchors[:, 0] + np.float32(0.5) * widths)
    y = offsets[:, 1] * heights + (anchors[:, 1] + np.float32(0.5) * heights)
    most = np.float32(math.log(1000 / 16))
    w = np.float32(0.5) * (np.exp(np.minimum(offsets[:, 2], most)) * widths)
    h = np.float32(0.5) * (np.exp(np.minimum(offsets[:, 3], most)) * heights)
    return np.clip(np.stack([x - w, y - h, x + w, y + h], 1), 0, np.float32(SIZE))


def found_in(logits, offsets, nms):
    """Rows of corners, score and class, best first."""
    rows, first = [], 0
    for anchors in LEVELS:
        part = slice(first, first + len(anchors))
        first += len(anchors)
        scores = (1 / (1 + np.exp(-logits[part]))).reshape(-1)
        places = np.where(scores > np.float32(0.05))[0]
        places = places[np.argsort(-scores[places], kind="stable")][:1000]
        corners = decoded(anchors[places // CLASSES], offsets[part][places // CLASSES])
        rows += [(*box, scores[place], place % CLASSES) for box, place in zip(corners, places)]
    rows = np.array(rows, np.float32).reshape(-1, 6)
    kept = []
    for number in range(CLASSES):
        own = rows[rows[:, 5] == number]
        own = own[np.argsort(-own[:, 4], kind="stable")]
        if len(own):
            feed = {"boxes": own[None, :, [1, 0, 3, 2]], "scores": own[None, None, :, 4],
                    "most": np.array([len(own)]), "overlap": np.array([0.5], np.float32)}
            kept.append(own[nms.run(None, feed)[0][:, 2]])
    kept = np.concatenate(kept) if kept else rows
    return kept[np.argsort(-kept[:, 4], kind="stable")][:300]


def heads(boxes):
    """Outputs of both heads that find these boxes more or less, and others. No two logits are nearly equal, so that the
    last bit of a score does not order them."""
    logits = np.full((COUNT, CLASSES), -9, np.float32)
    offsets = np.round(np.random.randn(COUNT, 4) * 0.3, 3).astype(np.float32)
    anchors = np.concatenate(LEVELS)
    middles = (anchors[:, :2] + anchors[:, 2:]) / 2
    sides = anchors[:, 2:] - anchors[:, :2]
    for x, y, w, h, number in boxes:
        want = np.array([x + w / 2, y + h / 2])
        near = np.argsort(np.abs(middles - want).sum(1) + np.abs(sides - [w, h]).sum(1))[:random.choice([0, 1, 3, 12])]
        offsets[near, :2] = (want - middles[near]) / sides[near] + np.random.randn(len(near), 2) * 0.05
        offsets[near, 2:] = np.log([w, h] / sides[near]) + np.random.randn(len(near), 2) * 0.05
        logits[near, number] = np.random.randn(len(near)) * 2 + 1
    others = np.random.randint(0, COUNT, random.choice([0, 5, 1500]))
    logits[others, np.random.randint(0, CLASSES, len(others))] = np.random.randn(len(others)) - 1
    return apart(logits), offsets


def apart(logits):
    """The same in their order, with at least 1/16384 between two that could be found."""
    flat = logits.reshape(-1)
    places = np.where(flat > -9)[0]
    places = places[np.argsort(flat[places])]
    steps = np.round(flat[places].astype(float) * 16384).astype(int)
    for at in range(1, len(steps)):
        steps[at] = max(steps[at], steps[at - 1] + 1)
    flat[places] = steps / 16384
    return flat.reshape(logits.shape)


def model(path):
    """Writes a model whose input becomes both outputs."""
    cut = COUNT * CLASSES
    constants = [("one", [cut, 4 * COUNT]), ("logits_shape", [0, COUNT, CLASSES]), ("offsets_shape", [0, COUNT, 4])]
    constants = [numpy_helper.from_array(np.array(values, np.int64), name) for name, values in constants]
    nodes = [
        helper.make_node("Split", ["heads", "one"], ["a", "b"], axis=1),
        helper.make_node("Reshape", ["a", "logits_shape"], ["cls_logits"]),
        helper.make_node("Reshape", ["b", "offsets_shape"], ["bbox_regression"]),
    ]
    value = lambda name, *dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", *dims])
    outputs = [value("cls_logits", COUNT, CLASSES), value("bbox_regression", COUNT, 4)]
    graph = helper.make_graph(nodes, "heads", [value("heads", cut + 4 * COUNT)], outputs, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    onnx.save(made, path)


def annotations(images):
    """Right boxes, in images of other sizes than the network's."""
    file = {"images": [], "annotations": [], "categories": [{"id": number} for number in range(CLASSES)]}
    for number in range(images):
        size = {"height": random.randint(50, 400), "width": random.randint(50, 400)}
        file["images"].append({"id": 7 * number, **size})
        for _ in range(random.choice([0, 1, 4])):
            x, y, w, h = np.random.rand(4) * [0.6, 0.6, 0.3, 0.3] + [0, 0, 0.05, 0.05]
            bbox = [x * size["width"], y * size["height"], w * size["width"], h * size["height"]]
            file["annotations"].append({
                "id": len(file["annotations"]) + 1, "image_id": 7 * number, "category_id": random.randrange(CLASSES),
                "bbox": bbox, "area": bbox[2] * bbox[3], "iscrowd": 0,
            })
    return file


def mean_average_precision(file, found):
    detections = []
    for image, rows in zip(file["images"], found):
        height, width = image["height"], image["width"]
        for row in rows:
            left, top, right, bottom = row[:4] / np.float32(SIZE)
            left, right, top, bottom = left * width, right * width, top * height, bottom * height
            detections.append({"image_id": image["id"], "category_id": int(row[5]), "score": float(row[4]),
                               "bbox": [float(left), float(top), float(right - left), float(bottom - top)]})
    with contextlib.redirect_stdout(io.StringIO()):
        right = COCO()
        right.dataset = file
        right.createIndex()
        evaluation = COCOeval(right, right.loadRes(detections), iouType="bbox")
        evaluation.params.imgIds = [image["id"] for image in file["images"]]
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return 100 * evaluation.stats[0]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def measured(binaries, root):
    """The printed mAP, and the boxes of each sample as the log has them."""
    address = f"127.0.0.1:{free_port()}"
    serve = [binaries / "sut-node", "serve", "--node", "N1", "--listen", address, "--backend",
             f"onnx:{root / 'heads.onnx'}", "--postprocess", f"retinanet={SIZE}"]
    node = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        run = [binaries / "loadgen-node", "run", "--sut", address, "--wait-ready", "60s", "--benchmark",
               root / "benchmark.toml", "--dataset", root / "data", "--scenario", "Offline", "--mode", "AccuracyOnly",
               "--out", root / "run"]
        subprocess.run(run, stdout=subprocess.DEVNULL, check=True)
    finally:
        node.terminate()
        node.wait()
    command = [binaries / "loadgen-node", "accuracy", "--json", root / "run"]
    printed = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    log = json.loads((root / "run" / "mlperf_log_accuracy.json").read_text())
    boxes = {line["qsl_idx"]: np.frombuffer(bytes.fromhex(line["data"]), np.float32).reshape(-1, 7) for line in log}
    return printed["value"], boxes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--images", type=int, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    args = parser.parse_args()
    print(f"seed {args.seed}")
    random.seed(args.seed)
    np.random.seed(args.seed)
    file, nms, found = annotations(args.images), suppression(), []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "data").mkdir()
        (root / "benchmark.toml").write_text(BENCHMARK)
        (root / "data" / "annotations.json").write_text(json.dumps(file))
        model(root / "heads.onnx")
        for number, image in enumerate(file["images"]):
            own = [line for line in file["annotations"] if line["image_id"] == image["id"]]
            scale = np.array([SIZE / image["width"], SIZE / image["height"]] * 2)
            logits, offsets = heads([(*(np.array(line["bbox"]) * scale), line["category_id"]) for line in own])
            found.append(found_in(logits, offsets, nms))
            np.save(root / "data" / f"{number:04}.npy", np.concatenate([logits.reshape(-1), offsets.reshape(-1)]))
        value, boxes = measured(args.bin, root)
    differing = 0
    for number, rows in enumerate(found):
        wanted = np.concatenate([rows[:, [1, 0, 3, 2]] / np.float32(SIZE), rows[:, 4:]], 1)
        ours = boxes[number][:, 1:]
        is_same = ours.shape == wanted.shape and np.allclose(ours, wanted, rtol=0, atol=1e-4)
        differing += not is_same
        if not is_same:
            print(f"image {number}: {len(ours)} boxes, {len(wanted)} wanted")
    expected = mean_average_precision(file, found)
    is_same = differing == 0 and abs(value - expected) <= LIMIT
    print(f"{sum(map(len, found))} boxes in {args.images} images, {differing} images differ; mAP {value!r}, theirs "
          f"{float(expected)!r}")
    raise SystemExit(0 if is_same else 1)


if __name__ == "__main__":
    main()
