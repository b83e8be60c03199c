"""Writes a folder of JPEGs of several sizes as ImageNet's validation set has them, with val_map.txt: what a model says
of each, by an implementation of the pre-processing that is not the product's.

    python images.py FOLDER MODEL.onnx [COUNT]

Needs numpy, onnxruntime and pillow (requirements.txt). The same versions write the same files, which are
never committed.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from fresh import is_there
from PIL import Image

SIZES = [(500, 375), (375, 500), (640, 480), (256, 256), (224, 224), (300, 900), (150, 200)]
MEAN = np.array([123.68, 116.78, 103.94], np.float32)


def picture(number):
    """Waves in three colours, others for every number."""
    random = np.random.default_rng(number)
    width, height = SIZES[number % len(SIZES)]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    image = np.zeros((height, width, 3), np.float32)
    for channel in range(3):
        fx, fy, lift = random.uniform(0.01, 0.4), random.uniform(0.01, 0.6), random.uniform(-100, 100)
        image[..., channel] = MEAN[channel] + lift + 100 * np.sin(fy * y) * np.cos(fx * x)
    return Image.fromarray(image.clip(0, 255).astype(np.uint8))


def preprocessed(path):
    """The shorter side to 256, the centre of 224, less the mean; f32[3,224,224]."""
    image = Image.open(path).convert("RGB")
    width, height = image.size
    short = min(width, height)
    image = image.resize((width * 256 // short, height * 256 // short), Image.BOX)
    left, top = (image.width - 224) // 2, (image.height - 224) // 2
    pixels = np.asarray(image.crop((left, top, left + 224, top + 224)), np.float32) - MEAN
    return pixels.transpose(2, 0, 1)


def main():
    folder, model = Path(sys.argv[1]), sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 64
    labels = folder / "val_map.txt"
    if is_there([labels], model) and len(labels.read_text().splitlines()) == count:
        return print(f"{folder}: there already")
    folder.mkdir(parents=True, exist_ok=True)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    lines = []
    for number in range(count):
        path = folder / f"picture_{number:04}.jpg"
        picture(number).save(path, quality=90)
        [logits] = session.run(None, {session.get_inputs()[0].name: preprocessed(path)[None]})
        lines.append(f"{path.name} {int(logits[0].argmax())}\n")
    labels.write_text("".join(lines))
    classes = len({line.split()[1] for line in lines})
    print(f"{folder}: {count} pictures of {classes} classes")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or "--help" in sys.argv:
        sys.exit(__doc__)
    main()
