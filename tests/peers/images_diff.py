#!/usr/bin/env python3
"""Compares pre-processed images with those of OpenCV, step by step as YOLO's package `ultralytics` makes a letterbox,
and as the reference implementation of round v0.5 cuts out the middle for MobileNet.

    images_diff.py --preprocess PATH [--cases N] [--seed N]

PATH is the example `preprocess` of the package lon-image. Every byte has to be the same. The last line is `N images the
same, N differ`, and the exit code is 0 only when none differs.
"""

import argparse
import random
import subprocess

import cv2
import numpy as np

GREY = (114, 114, 114)


def letterbox(image, height, width):
    """As large as fits, in the middle of a grey image."""
    rows, columns = image.shape[:2]
    ratio = min(height / rows, width / columns)
    size = max(round(columns * ratio), 1), max(round(rows * ratio), 1)
    if size != (columns, rows):
        image = cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)
    beside, above = (width - size[0]) / 2, (height - size[1]) / 2
    top, bottom = round(above - 0.1), round(above + 0.1)
    left, right = round(beside - 0.1), round(beside + 0.1)
    return cv2.copyMakeBorder(image, top, bottom, left, right, cv2.BORDER_CONSTANT, value=GREY)


def middle(image, height, width):
    """The middle of an image whose shorter side is 8/7 of the middle's, before it becomes floats."""
    rows, columns = image.shape[:2]
    shorter_height, shorter_width = int(100.0 * height / 87.5), int(100.0 * width / 87.5)
    if rows > columns:
        size = shorter_width, int(shorter_height * rows / columns)
    else:
        size = int(shorter_width * columns / rows), shorter_height
    image = cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)
    top, left = int((size[1] - height) / 2), int((size[0] - width) / 2)
    return image[top:top + height, left:left + width]


def case():
    """A SPEC, an image and the tensor that is wanted."""
    rows, columns = (random.choice([random.randint(1, 40), random.randint(40, 900)]) for _ in range(2))
    height, width = (random.choice([32, 64, 320, 640]) for _ in range(2))
    if random.random() < 0.2:
        rows, columns = 2 * height, 2 * width
    image = np.random.randint(0, 256, (rows, columns, 3), np.uint8)
    if random.random() < 0.3:
        crop = random.choice([28, 112, 224])
        spec = f"resize={crop * 8 // 7},filter=opencv-linear,crop={crop},layout=nhwc,dtype=u8"
        return spec, image, middle(image, crop, crop)
    if random.random() < 0.5:
        spec = f"letterbox-640,letterbox={height}x{width}"
        return spec, image, (letterbox(image, height, width).transpose(2, 0, 1).astype(np.float32) / np.float32(255))
    spec = f"resize={height}x{width},filter=opencv-linear,layout=nhwc,dtype=u8"
    return spec, image, cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--preprocess", required=True)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    args = parser.parse_args()
    print(f"seed {args.seed}")
    random.seed(args.seed)
    np.random.seed(args.seed)
    same = 0
    for _ in range(args.cases):
        spec, image, wanted = case()
        rows, columns = image.shape[:2]
        command = [args.preprocess, spec, str(columns), str(rows)]
        made = subprocess.run(command, input=image.tobytes(), stdout=subprocess.PIPE, check=True).stdout
        is_same = made == np.ascontiguousarray(wanted).tobytes()
        same += is_same
        if not is_same:
            print(f"{spec} of {columns}x{rows}: differs")
    print(f"{same} images the same, {args.cases - same} differ")
    raise SystemExit(0 if same == args.cases else 1)


if __name__ == "__main__":
    main()
