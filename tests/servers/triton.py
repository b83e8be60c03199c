"""Becomes a Triton server with one model, an ONNX file on ONNX Runtime inside Triton's Python backend.

    DIR/venv/bin/python tests/servers/triton.py --port 18001 --onnx loadgen-node/qsl/digits/digits.onnx

The model's name is the file's. Speaks KServe V2 over gRPC on 127.0.0.1 until it is told to stop (SIGTERM). With
--numpy FOLDER the model uses the numpy in there.
"""

import argparse
import os
import pathlib
import sys
import tempfile

import onnxruntime

TYPES = {
    "tensor(float)": "TYPE_FP32",
    "tensor(float16)": "TYPE_FP16",
    "tensor(double)": "TYPE_FP64",
    "tensor(uint8)": "TYPE_UINT8",
    "tensor(int8)": "TYPE_INT8",
    "tensor(int32)": "TYPE_INT32",
    "tensor(int64)": "TYPE_INT64",
    "tensor(bool)": "TYPE_BOOL",
}

MODEL = '''
import sys

sys.path[:0] = {path!r}

import onnxruntime
import triton_python_backend_utils as utils


class TritonPythonModel:
    def initialize(self, args):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession({onnx!r}, options, providers=["CPUExecutionProvider"])
        self.inputs = [tensor.name for tensor in self.session.get_inputs()]
        self.outputs = [tensor.name for tensor in self.session.get_outputs()]

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        feed = {{name: utils.get_input_tensor_by_name(request, name).as_numpy() for name in self.inputs}}
        outputs = self.session.run(self.outputs, feed)
        tensors = [utils.Tensor(name, data) for name, data in zip(self.outputs, outputs)]
        return utils.InferenceResponse(output_tensors=tensors)
'''


def tensors(title, specs):
    """Inputs or outputs in the text format of Triton's configuration."""
    lines = []
    for spec in specs:
        dims = ", ".join(str(dim) if isinstance(dim, int) else "-1" for dim in spec.shape)
        lines.append(f'{title} [ {{ name: "{spec.name}" data_type: {TYPES[spec.type]} dims: [ {dims} ] }} ]')
    return lines


def write_repository(folder, name, onnx, path):
    session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
    model = folder / name
    (model / "1").mkdir(parents=True)
    # Batches are the model's own dimension, and a sample comes as one of 1.
    config = [f'name: "{name}"', 'backend: "python"', "max_batch_size: 0"]
    config += tensors("input", session.get_inputs()) + tensors("output", session.get_outputs())
    (model / "config.pbtxt").write_text("\n".join(config) + "\n")
    (model / "1" / "model.py").write_text(MODEL.format(onnx=onnx, path=path))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--onnx", type=pathlib.Path, required=True)
    parser.add_argument("--numpy", type=pathlib.Path)
    args = parser.parse_args()
    repository = pathlib.Path(tempfile.mkdtemp(prefix="triton-"))
    # The backend does not ask PYTHONPATH.
    path = [str(args.numpy.resolve())] if args.numpy else []
    write_repository(repository, args.onnx.stem, str(args.onnx.resolve()), path)
    site = pathlib.Path(onnxruntime.__file__).parent.parent
    triton = site / "pytriton" / "tritonserver"
    env = dict(os.environ, PATH=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
    command = [
        str(triton / "bin" / "tritonserver"),
        f"--model-repository={repository}",
        f"--backend-directory={triton / 'backends'}",
        f"--grpc-port={args.port}",
        "--grpc-address=127.0.0.1",
        "--allow-http=false",
        "--allow-metrics=false",
    ]
    os.execve(command[0], command, env)


if __name__ == "__main__":
    main()
