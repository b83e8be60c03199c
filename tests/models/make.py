"""Writes ONNX models with random weights, for tests and measurements: shapes of real networks, answers of none.

    python make.py FOLDER [NAME ...]

writes FOLDER/NAME.onnx; all of MODELS unless names are given. Needs numpy and onnx (requirements.txt). Seeds are fixed:
the same versions of both write the same bytes. The files are never committed.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from decoder import decoder
from fresh import is_there
from graph import Graph, value
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator


class Net(Graph):
    """Layers with weights that keep the size of what goes through them."""

    def weight(self, *shape, fan_in):
        """Normal, scaled so that what goes through keeps its size."""
        return self.constant(self.random.standard_normal(shape, np.float32) * np.sqrt(2.0 / fan_in))

    def conv(self, x, channels_in, channels_out, kernel, stride=1, name=None):
        w = self.weight(channels_out, channels_in, kernel, kernel, fan_in=channels_in * kernel * kernel)
        b = self.constant(self.random.standard_normal(channels_out) * 0.01)
        pads = [kernel // 2] * 4
        return self.node("Conv", x, w, b, name=name, kernel_shape=[kernel, kernel], strides=[stride, stride], pads=pads)

    def batch_norm(self, x, channels, scale=1.0):
        statistics = [
            scale * (1 + 0.1 * self.random.standard_normal(channels)),
            0.01 * self.random.standard_normal(channels),
            0.01 * self.random.standard_normal(channels),
            1 + 0.1 * self.random.random(channels),
        ]
        return self.node("BatchNormalization", x, *[self.constant(values) for values in statistics], epsilon=1e-5)

    def dense(self, x, width_in, width_out, name=None):
        product = self.node("MatMul", x, self.weight(width_in, width_out, fan_in=width_in))
        return self.node("Add", product, self.constant(0.01 * self.random.standard_normal(width_out)), name=name)


def resnet50():
    """ResNet50 v1.5: the stride of a stage is in the 3x3 convolution of its first block. 25.6 million weights."""
    g = Net(50)
    # Pixels less their mean are some tens; what follows likes values around one.
    x = g.node("Mul", "image", g.constant(1 / 50))
    x = g.node("Relu", g.batch_norm(g.conv(x, 3, 64, 7, stride=2), 64))
    x = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, blocks in enumerate([3, 4, 6, 3]):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = g.node("Relu", g.batch_norm(g.conv(x, channels, width, 1), width))
            y = g.node("Relu", g.batch_norm(g.conv(y, width, width, 3, stride), width))
            # The branch is kept small, so that sixteen additions do not let the values run away.
            y = g.batch_norm(g.conv(y, width, 4 * width, 1), 4 * width, scale=0.3)
            if block == 0:
                x = g.batch_norm(g.conv(x, channels, 4 * width, 1, stride), 4 * width)
            x = g.node("Relu", g.node("Add", x, y))
            channels = 4 * width
    x = g.node("Flatten", g.node("GlobalAveragePool", x), axis=1)
    w, b = g.weight(1000, channels, fan_in=channels), g.constant(np.zeros(1000))
    g.node("Gemm", x, w, b, name="logits", transB=1)
    image = value("image", TensorProto.FLOAT, "N", 3, 224, 224)
    model = g.model("resnet50", [image], [value("logits", TensorProto.FLOAT, "N", 1000)])
    centre(model, b)
    return model


def centre(model, bias_named):
    """Lets the mean answer be zero. What random images have in common outweighs what tells them apart, and without
    this they would all be of one class, which no test of predictions would notice."""
    images = np.stack([pattern(number, 64) for number in range(4)])
    logits = ReferenceEvaluator(model).run(None, {"image": images})[0]
    bias = next(tensor for tensor in model.graph.initializer if tensor.name == bias_named)
    bias.CopyFrom(numpy_helper.from_array(-logits.mean(axis=0).astype(np.float32), bias_named))


def pattern(number, side):
    """An image of waves, another for every number, in f32[3,side,side]: pixels less their mean."""
    y, x = np.mgrid[0:side, 0:side].astype(np.float32)
    waves = [np.sin(y * (0.02 * (number + 1) + 0.3 * c)) * np.cos(x * (0.05 * number + 0.1)) for c in range(3)]
    return np.stack([100 * wave + 100 * (number % 3 == c) for c, wave in enumerate(waves)]).astype(np.float32)


def bert():
    """A BERT of two layers that answers questions: three inputs of a free length, two outputs of the same length."""
    g = Net(2)
    vocabulary, positions, width, heads, inner = 1000, 512, 64, 4, 256
    ids = [value(name, TensorProto.INT64, "N", "S") for name in ("input_ids", "attention_mask", "token_type_ids")]

    def embedding(rows):
        return g.constant(g.random.standard_normal((rows, width)) * 0.5)

    axes = g.constant([0], np.int64)
    length = g.node("Slice", g.node("Shape", "input_ids"), g.constant([1], np.int64), g.constant([2], np.int64), axes)
    length = g.node("Squeeze", length, axes)
    zero, one = g.constant(0, np.int64), g.constant(1, np.int64)
    place = g.node("Gather", embedding(positions), g.node("Range", zero, length, one), axis=0)
    words = g.node("Gather", embedding(vocabulary), "input_ids", axis=0)
    types = g.node("Gather", embedding(2), "token_type_ids", axis=0)
    x = g.layer_norm(g.node("Add", g.node("Add", words, types), place), width)

    # 0 where attention is allowed, a large negative number where it is not: [N,1,1,S].
    mask = g.node("Cast", g.node("Unsqueeze", "attention_mask", g.constant([1, 2], np.int64)), to=TensorProto.FLOAT)
    mask = g.node("Mul", g.node("Sub", g.constant(1.0), mask), g.constant(-10000.0))
    split = g.constant([0, 0, heads, width // heads], np.int64)
    join = g.constant([0, 0, width], np.int64)

    def head(x, perm):
        return g.node("Transpose", g.node("Reshape", g.dense(x, width, width), split), perm=perm)

    for _ in range(2):
        q, k, v = head(x, [0, 2, 1, 3]), head(x, [0, 2, 3, 1]), head(x, [0, 2, 1, 3])
        scores = g.node("Mul", g.node("MatMul", q, k), g.constant((width / heads) ** -0.5))
        weights = g.node("Softmax", g.node("Add", scores, mask), axis=-1)
        joined = g.node("Reshape", g.node("Transpose", g.node("MatMul", weights, v), perm=[0, 2, 1, 3]), join)
        x = g.layer_norm(g.node("Add", x, g.dense(joined, width, width)), width)
        y = g.dense(x, width, inner)
        # GELU, exactly.
        y = g.node("Mul", y, g.node("Add", g.node("Erf", g.node("Mul", y, g.constant(2**-0.5))), g.constant(1.0)))
        y = g.dense(g.node("Mul", y, g.constant(0.5)), inner, width)
        x = g.layer_norm(g.node("Add", x, y), width)
    logits = g.dense(x, width, 2)
    for column, name in enumerate(("start_logits", "end_logits")):
        g.node("Gather", logits, g.constant(column, np.int64), name=name, axis=2)
    outputs = [value(name, TensorProto.FLOAT, "N", "S") for name in ("start_logits", "end_logits")]
    return g.model("bert", ids, outputs)


def detector():
    """One stage of a detector: boxes, scores and labels of 576 anchors of a small image. Several outputs and types."""
    g = Net(7)
    side, classes, anchors = 96, 12, 4
    x, channels = "image", 3
    for width in (16, 32, 64):
        x = g.node("Relu", g.batch_norm(g.conv(x, channels, width, 3, stride=2), width))
        channels = width
    cells = (side // 8) ** 2

    def rows(x, columns, name):
        x = g.node("Transpose", g.conv(x, channels, anchors * columns, 3), perm=[0, 2, 3, 1])
        return g.node("Reshape", x, g.constant([0, cells * anchors, columns], np.int64), name=name)

    g.node("Sigmoid", rows(x, 4, "box_rows"), name="boxes")
    scores = g.node("Softmax", rows(x, classes, "score_rows"), axis=2, name="class_scores")
    g.node("ReduceMax", scores, name="scores", axes=[2], keepdims=0)
    g.node("ArgMax", scores, name="labels", axis=2, keepdims=0)
    count = cells * anchors
    return g.model(
        "detector",
        [value("image", TensorProto.FLOAT, "N", 3, side, side)],
        [
            value("boxes", TensorProto.FLOAT, "N", count, 4),
            value("scores", TensorProto.FLOAT, "N", count),
            value("labels", TensorProto.INT64, "N", count),
        ],
    )


def pairs():
    """Each row with each row: L rows become L x L numbers."""
    g = Net(9)
    g.node("MatMul", "x", g.node("Transpose", "x", perm=[0, 2, 1]), name="y")
    return g.model(
        "pairs", [value("x", TensorProto.FLOAT, "N", "L", 2)], [value("y", TensorProto.FLOAT, "N", "L", "L")]
    )


MODELS = {"resnet50": resnet50, "bert": bert, "detector": detector, "decoder": decoder, "pairs": pairs}


def main():
    folder, names = Path(sys.argv[1]), sys.argv[2:] or list(MODELS)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = folder / f"{name}.onnx"
        if not is_there([path]):
            # One that was broken off must not look as if it were there.
            part = path.with_suffix(".part")
            onnx.save(MODELS[name](), part)
            part.replace(path)
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    if len(sys.argv) < 2 or "--help" in sys.argv or not set(sys.argv[2:]) <= set(MODELS):
        sys.exit(f"{__doc__}\nMODELS: {', '.join(MODELS)}")
    main()
