"""A kserve server with two models: an ONNX file on ONNX Runtime, and `total`, the sum of any number of bytes.

    DIR/kserve/bin/python tests/servers/start_kserve.py --port 18003 --onnx loadgen-node/qsl/digits/digits.onnx

The first model's name is the file's. Speaks KServe V2 over gRPC on 127.0.0.1 until it is told to stop (SIGTERM), and
takes messages of up to 8 MiB, which is kserve's own limit. It says nothing of its models' inputs and outputs.
"""

import argparse
import asyncio
import pathlib
import signal
import types

import grpc
import kserve
import numpy
import onnxruntime
from kserve.model_server import args as defaults
from kserve.protocol.dataplane import DataPlane
from kserve.protocol.grpc import server as kserve_grpc
from kserve.protocol.model_repository_extension import ModelRepositoryExtension


class Onnx(kserve.Model):
    """An ONNX file."""

    def __init__(self, name, onnx):
        super().__init__(name)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(onnx), options, providers=["CPUExecutionProvider"])
        self.names = [tensor.name for tensor in self.session.get_outputs()]
        self.ready = True

    def predict(self, payload, headers=None, response_headers=None):
        feed = {tensor.name: tensor.as_numpy() for tensor in payload.inputs}
        return answer(payload, dict(zip(self.names, self.session.run(self.names, feed))))


class Total(kserve.Model):
    """`total`."""

    def __init__(self):
        super().__init__("total")
        self.ready = True

    def predict(self, payload, headers=None, response_headers=None):
        total = payload.inputs[0].as_numpy().sum(axis=1, keepdims=True, dtype=numpy.int64)
        return answer(payload, {"total": total})


DATATYPES = {"float32": "FP32", "float16": "FP16", "float64": "FP64", "bool": "BOOL"}


def answer(request, outputs):
    tensors = []
    for name, data in outputs.items():
        datatype = DATATYPES.get(data.dtype.name, data.dtype.name.upper())
        tensor = kserve.InferOutput(name, list(data.shape), datatype)
        tensor.set_data_from_numpy(data, binary_data=True)
        tensors.append(tensor)
    return kserve.InferResponse(response_id=request.id, model_name=request.model_name, infer_outputs=tensors)


def server_on_loopback(*args, **options):
    """gRPC's server, which listens on 127.0.0.1 whatever it is told: kserve tells it all interfaces."""
    server = grpc.aio.server(*args, **options)
    listen = server.add_insecure_port
    server.add_insecure_port = lambda address: listen(f"127.0.0.1:{address.rpartition(':')[2]}")
    return server


async def serve(port, models):
    repository = kserve.ModelRepository()
    for model in models:
        repository.update(model)
    kserve_grpc.aio = types.SimpleNamespace(server=server_on_loopback)
    # As kserve.ModelServer starts it, without the server for REST beside it.
    extension = ModelRepositoryExtension(model_registry=repository)
    server = kserve_grpc.GRPCServer(port, DataPlane(model_registry=repository), extension, kwargs=vars(defaults))
    stopped = lambda: asyncio.ensure_future(server.stop())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped)
    await server.start(defaults.max_threads)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--onnx", type=pathlib.Path, required=True)
    args = parser.parse_args()
    asyncio.run(serve(args.port, [Onnx(args.onnx.stem, args.onnx), Total()]))


if __name__ == "__main__":
    main()
