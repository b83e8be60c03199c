"""Becomes an mlserver with two models: an ONNX file on ONNX Runtime, and `total`, the sum of any number of bytes.

    DIR/mlserver/bin/python tests/servers/start_mlserver.py --port 18002 --onnx loadgen-node/qsl/digits/digits.onnx

The first model's name is the file's. Speaks KServe V2 over gRPC on 127.0.0.1 until it is told to stop (SIGTERM), and
takes messages of up to 4 MiB, which is mlserver's own limit.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

import onnxruntime

TYPES = {
    "tensor(float)": "FP32",
    "tensor(float16)": "FP16",
    "tensor(double)": "FP64",
    "tensor(uint8)": "UINT8",
    "tensor(int8)": "INT8",
    "tensor(int32)": "INT32",
    "tensor(int64)": "INT64",
    "tensor(bool)": "BOOL",
}


def tensor(name, datatype, shape):
    """An input or output as model-settings.json has it."""
    return {"name": name, "datatype": datatype, "shape": [dim if isinstance(dim, int) else -1 for dim in shape]}


def write_model(folder, name, runtime, inputs, outputs, **more):
    implementation = f"mlserver_runtimes.{runtime}"
    settings = {"name": name, "implementation": implementation, "inputs": inputs, "outputs": outputs}
    (folder / name).mkdir()
    (folder / name / "model-settings.json").write_text(json.dumps(settings | more, indent=2))


def write_repository(folder, name, onnx):
    model = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
    inputs, outputs = (
        [tensor(spec.name, TYPES[spec.type], spec.shape) for spec in specs]
        for specs in (model.get_inputs(), model.get_outputs())
    )
    write_model(folder, name, "Onnx", inputs, outputs, parameters={"uri": onnx})
    write_model(folder, "total", "Total", [tensor("x", "UINT8", ["N", "bytes"])], [tensor("total", "INT64", ["N", 1])])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--onnx", type=pathlib.Path, required=True)
    args = parser.parse_args()
    repository = pathlib.Path(tempfile.mkdtemp(prefix="mlserver-"))
    write_repository(repository, args.onnx.stem, str(args.onnx.resolve()))
    settings = {
        "host": "127.0.0.1",
        "grpc_port": args.port,
        # Any: it cannot do without one.
        "http_port": 0,
        "metrics_endpoint": None,
        # Models run in the server's own process, which is the only one to end.
        "parallel_workers": 0,
        "debug": False,
    }
    (repository / "settings.json").write_text(json.dumps(settings, indent=2))
    command = [str(pathlib.Path(sys.executable).parent / "mlserver"), "start", str(repository)]
    # The runtimes lie beside this file. What it leaves in its folder is left there.
    env = dict(os.environ, PYTHONPATH=str(pathlib.Path(__file__).resolve().parent))
    os.chdir(repository)
    os.execve(command[0], command, env)


if __name__ == "__main__":
    main()
