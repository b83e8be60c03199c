"""Runtimes inside the mlserver of start_mlserver.py."""

import numpy
import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse


class Onnx(MLModel):
    """The runtime of an ONNX file."""

    async def load(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        onnx = self.settings.parameters.uri
        self.session = onnxruntime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
        self.names = [tensor.name for tensor in self.session.get_outputs()]
        return True

    async def predict(self, payload):
        feed = {tensor.name: NumpyCodec.decode_input(tensor) for tensor in payload.inputs}
        outputs = self.session.run(self.names, feed)
        encoded = [NumpyCodec.encode_output(name, data) for name, data in zip(self.names, outputs)]
        return InferenceResponse(model_name=self.name, outputs=encoded)


class Total(MLModel):
    """The runtime of `total`."""

    async def load(self):
        return True

    async def predict(self, payload):
        total = NumpyCodec.decode_input(payload.inputs[0]).sum(axis=1, keepdims=True, dtype=numpy.int64)
        return InferenceResponse(model_name=self.name, outputs=[NumpyCodec.encode_output("total", total)])
