"""Tools that the scripts that write models share: a graph under construction."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET = 17
IR_VERSION = 8


class Graph:
    """Collects nodes and weights; every method returns the name of what it computes."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes = []
        self.weights = []

    def node(self, op, *inputs, name=None, **attributes):
        name = name or f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, values, dtype=np.float32):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def layer_norm(self, x, width):
        return self.node("LayerNormalization", x, self.constant(np.ones(width)), self.constant(np.zeros(width)))

    def model(self, name, inputs, outputs):
        graph = helper.make_graph(self.nodes, name, inputs, outputs, initializer=self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = IR_VERSION
        onnx.checker.check_model(model, full_check=True)
        return model


def value(name, dtype, *shape):
    return helper.make_tensor_value_info(name, dtype, list(shape))
