"""Writes models of others with samples and right answers, to hold both engines of ONNX models against.

    python engines.py FOLDER WHEELS

takes the models in the Python packages in the folder WHEELS (wheels.txt), makes others, and writes
FOLDER/NAME/model.onnx and FOLDER/NAME/SAMPLE/{input,output}_NUMBER.pb: tensors as the package `onnx` keeps them.
An answer is right if ONNX Runtime gives it, in Python, for one sample alone; where ONNX Runtime does not have an
operator, the package `onnx` says what is right. Needs engines.txt. Names end in what was made of a model:

- `parameters`: what only the first input feeds; all others are part of the model, as exporters write it;
- `batch`: the leading dimension is free, and its rows are samples, be it a batch or not.
"""

import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests

KINDS = ["node", "simple", "pytorch-converted", "pytorch-operator"]
# Operators whose result is another one each time.
RANDOM = {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
SERVED = {
    getattr(TensorProto, name)
    for name in "FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 BOOL FLOAT16 DOUBLE UINT32 UINT64 BFLOAT16".split()
}


def is_served(value):
    return value.type.HasField("tensor_type") and value.type.tensor_type.elem_type in SERVED


def ports(model):
    weights = {weight.name for weight in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in weights], list(model.graph.output)


class Cases:
    """The folder, and how many cases it has."""

    def __init__(self, folder):
        self.folder, self.count = folder, 0

    def add(self, name, model, samples, expected=None):
        """Writes a case, if there is a right answer to each of its samples: lists of arrays, one for each input."""
        inputs, outputs = ports(model)
        if not inputs or not outputs or not all(map(is_served, inputs + outputs)):
            return
        if any(node.op_type in RANDOM for node in model.graph.node):
            return
        right = answers(model, samples) or expected
        if right is None:
            return
        folder = self.folder / name
        folder.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        for number, (sample, answer) in enumerate(zip(samples, right)):
            (folder / str(number)).mkdir()
            for kind, arrays in (("input", sample), ("output", answer)):
                for at, array in enumerate(arrays):
                    tensor = numpy_helper.from_array(np.asarray(array, order="C"))
                    (folder / str(number) / f"{kind}_{at}.pb").write_bytes(tensor.SerializeToString())
        self.count += 1


def answers(model, samples):
    """Returns the answers of ONNX Runtime; None where it does not run the model on all samples."""
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        names = [value.name for value in session.get_inputs()]
        return [session.run(None, dict(zip(names, sample))) for sample in samples]
    except Exception:
        return None


def read(path, value):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def of_package(cases):
    for kind in KINDS:
        for case in load_model_tests(kind=kind):
            folder = Path(case.model_dir)
            model = onnx.load(folder / "model.onnx")
            inputs, outputs = ports(model)
            if not all(map(is_served, inputs + outputs)):
                continue
            sets = sorted(folder.glob("test_data_set_*"))
            tensors = lambda kind, values, at: [read(at / f"{kind}_{n}.pb", value) for n, value in enumerate(values)]
            samples = [tensors("input", inputs, at) for at in sets]
            expected = [tensors("output", outputs, at) for at in sets]
            name = f"{kind}-{case.name.removeprefix('test_')}"
            cases.add(name, model, samples, expected)
            variants(cases, name, model, samples[0] if samples else [], expected[0] if expected else [])


def variants(cases, name, model, sample, expected):
    inputs, _ = ports(model)
    if len(inputs) > 1:
        model = onnx.ModelProto.FromString(model.SerializeToString())
        for value, array in list(zip(inputs, sample))[1:]:
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
            model.graph.input.remove(next(input for input in model.graph.input if input.name == value.name))
        sample = sample[:1]
        cases.add(f"{name}-parameters", model, [sample], [expected])
    if sample and sample[0].ndim and sample[0].shape[0] > 1:
        model = onnx.ModelProto.FromString(model.SerializeToString())
        for value in [model.graph.input[0], *model.graph.output]:
            dims = value.type.tensor_type.shape.dim
            if not dims:
                return
            # The other sizes of an output may follow from it.
            for dim in dims if value in model.graph.output else dims[:1]:
                dim.Clear()
        cases.add(f"{name}-batch", model, [[row[np.newaxis]] for row in sample[0][:8]])


def of_scikit_learn(cases):
    """All estimators for which skl2onnx has a converter and that need no arguments."""
    from skl2onnx import supported_converters, to_onnx
    from sklearn.datasets import make_classification
    from sklearn.utils import all_estimators

    known = set(supported_converters(from_sklearn=True))
    for classes in (2, 3):
        x, y = make_classification(80, 6, n_informative=5, n_redundant=0, n_classes=classes, random_state=classes)
        x = np.abs(x).astype(np.float32)
        for name, estimator in all_estimators():
            if f"Sklearn{name}" not in known and name not in known:
                continue
            # The least of its components are noise, which differs from one order of a sum to another.
            if name == "KernelPCA":
                continue
            try:
                made = estimator()
                if "max_iter" in made.get_params():
                    made.set_params(max_iter=50)
                if "n_estimators" in made.get_params():
                    made.set_params(n_estimators=5)
                made.fit(x[:60], y[:60])
                options = {id(made): {"zipmap": False}} if hasattr(made, "predict_proba") else None
                model = to_onnx(made, x[:1], options=options)
            except Exception:
                continue
            cases.add(f"sklearn-{name}-{classes}", model, [[row[np.newaxis]] for row in x[60:]])


def of_lightgbm(cases):
    import lightgbm
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType

    random = np.random.default_rng(1)
    x = random.standard_normal((200, 5)).astype(np.float32)
    kinds = [(lightgbm.LGBMRegressor, lambda x: x[:, 0]), (lightgbm.LGBMClassifier, lambda x: (x[:, 0] > 0).astype(int))]
    kinds.append((lightgbm.LGBMClassifier, lambda x: np.digitize(x[:, 1], [-0.5, 0.5])))
    for number, (kind, target) in enumerate(kinds):
        made = kind(n_estimators=5, verbose=-1).fit(x, target(x))
        model = convert_lightgbm(made, initial_types=[("x", FloatTensorType([None, 5]))], target_opset=15, zipmap=False)
        cases.add(f"lightgbm-{number}", model, [[row[np.newaxis]] for row in x[:20]])


def sample_of(value, size, batch, random):
    """A tensor for an input: one row of `size` in each direction that the model leaves free. `batch` is the name of the
    number of rows; what a model remembers between samples has it anywhere."""
    dims = value.type.tensor_type.shape.dim
    is_row = lambda at, dim: at == 0 or (batch and dim.dim_param == batch) or value.name in ("state", "h", "c")
    free = lambda at, dim: 1 if is_row(at, dim) else size
    shape = [dim.dim_value if dim.dim_value > 0 else free(at, dim) for at, dim in enumerate(dims)]
    if value.name == "sr":
        return np.full(shape, 16_000, np.int64)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    if np.issubdtype(dtype, np.integer):
        # Token ids, lengths and masks.
        return random.integers(1, min(size, 9), shape).astype(dtype)
    return random.random(shape).astype(dtype)


# Sizes for directions that a model leaves free; the first that it takes is the one.
SIZES = (64, 320, 512, 1600, 43_844, 20, 2, 1)


def of_wheels(cases, wheels):
    """Models as people ship them: eight samples of one size, and eight of three sizes."""
    for wheel in sorted(Path(wheels).glob("*.whl")):
        package = zipfile.ZipFile(wheel)
        for file in filter(lambda name: name.endswith(".onnx"), package.namelist()):
            model = onnx.load_model_from_string(package.read(file))
            inputs, outputs = ports(model)
            name = f"{wheel.name.split('-')[0]}-{Path(file).parent.name}-{Path(file).stem}"
            if not all(map(is_served, inputs + outputs)):
                print(f"{name}: not served")
                continue
            random = np.random.default_rng(1)
            leading = inputs[0].type.tensor_type.shape.dim
            batch = leading[0].dim_param if leading else ""
            sample = lambda size: [sample_of(value, size, batch, random) for value in inputs]
            size = next((size for size in SIZES if answers(model, [sample(size)])), None)
            print(f"{name}: size {size}")
            if size is None:
                continue
            cases.add(name, model, [sample(size) for _ in range(8)])
            sizes = [size, size * 2, size, size // 2, size, size, size * 2, size]
            mixed = [sample(size) for size in sizes]
            if any(a.shape != b.shape for a, b in zip(mixed[0], mixed[1])) and answers(model, mixed):
                cases.add(f"{name}-sizes", model, mixed)


def main():
    warnings.simplefilter("ignore")
    cases = Cases(Path(sys.argv[1]))
    sources = (of_package, of_scikit_learn, of_lightgbm, lambda cases: of_wheels(cases, sys.argv[2]))
    for source, name in zip(sources, ("package onnx", "scikit-learn", "LightGBM", "wheels")):
        before = cases.count
        source(cases)
        print(f"{name}: {cases.count - before} models")


if __name__ == "__main__":
    if len(sys.argv) != 3 or "--help" in sys.argv:
        sys.exit(__doc__)
    main()
