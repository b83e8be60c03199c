"""A small decoder-only language model with a cache of keys and values, with random weights: the inputs and outputs that
Hugging Face Optimum gives such models, answers of no meaning.

Inputs: input_ids, position_ids i64[N,S], attention_mask i64[N,P+S], past_key_values.L.key and .value f32[N,H,P,D].
Outputs: logits f32[N,S,V], present.L.key and .value f32[N,H,P+S,D]. P may be 0: no past.
"""

import numpy as np
from graph import Graph, value
from onnx import TensorProto

# As many tokens as the texts have that loadgen-node makes up (synthetic:tokens-i64[DIMS]xCOUNT).
VOCABULARY, WIDTH, HEADS, HEAD_WIDTH, LAYERS, HIDDEN = 30_522, 64, 4, 16, 3, 256
SEED = 6


class Decoder(Graph):
    """Layers of a decoder."""

    def dense(self, x, width_in, width_out, scale=1.0, name=None):
        weight = self.random.standard_normal((width_in, width_out)) * scale / np.sqrt(width_in)
        return self.node("MatMul", x, self.constant(weight), name=name)

    def heads(self, x):
        """f32[N,S,WIDTH] -> f32[N,H,S,D]"""
        shape = self.constant([0, 0, HEADS, HEAD_WIDTH], np.int64)
        return self.node("Transpose", self.node("Reshape", x, shape), perm=[0, 2, 1, 3])

    def slice(self, x, begin, end):
        """Of the last axis."""
        begin, end, axis = (self.constant([n], np.int64) for n in (begin, end, -1))
        return self.node("Slice", x, begin, end, axis)

    def rotated(self, x, cos, sin):
        """Rotary position embedding."""
        half = HEAD_WIDTH // 2
        turned = self.node("Concat", self.node("Neg", self.slice(x, half, HEAD_WIDTH)), self.slice(x, 0, half), axis=-1)
        return self.node("Add", self.node("Mul", x, cos), self.node("Mul", turned, sin))

    def unsqueezed(self, x, *axes):
        return self.node("Unsqueeze", x, self.constant(axes, np.int64))


def angles(g):
    """cos and sin f32[N,1,S,D] of what each position turns by."""
    frequencies = 10000.0 ** (-np.arange(HEAD_WIDTH // 2) / (HEAD_WIDTH // 2))
    frequencies = g.constant(np.concatenate([frequencies, frequencies])[None, None, None])
    positions = g.unsqueezed(g.node("Cast", "position_ids", to=TensorProto.FLOAT), 1, 3)
    angle = g.node("Mul", positions, frequencies)
    return g.node("Cos", angle), g.node("Sin", angle)


def bias(g):
    """f32[N,1,S,P+S]: 0 where a position may look, far below everything where it may not."""
    mask = g.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    # Positions of the keys: how many tokens that count come before.
    key_positions = g.node("Sub", g.node("CumSum", mask, g.constant(1, np.int32)), g.constant(1.0))
    positions = g.node("Cast", "position_ids", to=TensorProto.FLOAT)
    ahead = g.node("Greater", g.unsqueezed(key_positions, 1), g.unsqueezed(positions, 2))
    unseen = g.node("Less", g.unsqueezed(mask, 1), g.constant(0.5))
    hidden = g.node("Cast", g.node("Or", ahead, unseen), to=TensorProto.FLOAT)
    return g.unsqueezed(g.node("Mul", hidden, g.constant(-1e9)), 1)


def attention(g, x, layer, cos, sin, hide):
    # Steeper than usual, so that what is attended to depends on the text and answers do not run into one token.
    q, k, v = (g.heads(g.dense(x, WIDTH, WIDTH, scale)) for scale in (2.0, 2.0, 1.0))
    q, k = g.rotated(q, cos, sin), g.rotated(k, cos, sin)
    k = g.node("Concat", f"past_key_values.{layer}.key", k, axis=2, name=f"present.{layer}.key")
    v = g.node("Concat", f"past_key_values.{layer}.value", v, axis=2, name=f"present.{layer}.value")
    scores = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g.node("Add", g.node("Mul", scores, g.constant(HEAD_WIDTH**-0.5)), hide)
    mixed = g.node("MatMul", g.node("Softmax", scores, axis=-1), v)
    mixed = g.node("Transpose", mixed, perm=[0, 2, 1, 3])
    return g.dense(g.node("Reshape", mixed, g.constant([0, 0, WIDTH], np.int64)), WIDTH, WIDTH)


def decoder():
    g = Decoder(SEED)
    embedding = g.constant(g.random.standard_normal((VOCABULARY, WIDTH)))
    x = g.node("Gather", embedding, "input_ids", axis=0)
    (cos, sin), hide = angles(g), bias(g)
    for layer in range(LAYERS):
        x = g.node("Add", x, attention(g, g.layer_norm(x, WIDTH), layer, cos, sin, hide))
        hidden = g.node("Relu", g.dense(g.layer_norm(x, WIDTH), WIDTH, HIDDEN, 1.4))
        x = g.node("Add", x, g.dense(hidden, HIDDEN, WIDTH))
    # The same table both ways, its columns in another order: else every token would be followed by itself.
    turned = g.node("Gather", g.layer_norm(x, WIDTH), g.constant(g.random.permutation(WIDTH), np.int64), axis=2)
    g.node("MatMul", turned, g.node("Transpose", embedding, perm=[1, 0]), name="logits")

    past, total = "past_sequence_length", "past_sequence_length + sequence_length"
    inputs = [value(name, TensorProto.INT64, "batch_size", "sequence_length") for name in ("input_ids", "position_ids")]
    inputs.insert(1, value("attention_mask", TensorProto.INT64, "batch_size", total))
    outputs = [value("logits", TensorProto.FLOAT, "batch_size", "sequence_length", VOCABULARY)]
    for layer in range(LAYERS):
        for kind in ("key", "value"):
            shape = lambda length: ("batch_size", HEADS, length, HEAD_WIDTH)
            inputs.append(value(f"past_key_values.{layer}.{kind}", TensorProto.FLOAT, *shape(past)))
            outputs.append(value(f"present.{layer}.{kind}", TensorProto.FLOAT, *shape(total)))
    return g.model("decoder", inputs, outputs)
