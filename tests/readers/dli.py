#!/usr/bin/env python3
"""Computes DLI's times and rates from exported samples, and compares them with the rows of `campaign table --dli`.

    dli.py TABLE SAMPLES...    the table, and the samples of each row as CSV

The formulas are written here once more, with Python's own statistics.
"""
import csv
import statistics
import sys

# The table has this many digits behind the point.
DIGITS = 1e-5


def queries(path: str) -> tuple[list[float], int, float]:
    """Latency of each query, s; samples; time from the first start to the last end, s."""
    by_query: dict[str, float] = {}
    first, last, samples = None, 0, 0
    with open(path, newline="") as lines:
        for row in csv.DictReader(lines):
            start, latency = int(row["start_ns"]), int(row["latency_ns"])
            by_query[row["query"]] = max(by_query.get(row["query"], 0.0), latency / 1e9)
            first = start if first is None else min(first, start)
            last = max(last, start + latency)
            samples += 1
    return list(by_query.values()), samples, (last - first) / 1e9


def expected(row: dict[str, str], path: str) -> dict[str, float]:
    latencies, samples, total = queries(path)
    batch = int(row["Batch size"])
    if row["Mode"] == "Async":
        return {"FPS": samples / total, "Average time of single pass (s)": total / (samples / batch)}
    mean, sigma = statistics.fmean(latencies), statistics.pstdev(latencies)
    kept = [latency for latency in latencies if abs(latency - mean) <= 3 * sigma]
    return {
        "Average time of single pass (s)": statistics.fmean(kept),
        "Latency": statistics.median(kept),
        "FPS": batch * len(kept) / sum(kept),
        "BATCH FPS": batch / statistics.median(kept),
    }


def main() -> None:
    table, *samples = sys.argv[1:]
    with open(table, newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter=";"))
    if len(rows) != len(samples):
        sys.exit(f"{len(rows)} rows for {len(samples)} files of samples")
    for row, path in zip(rows, samples):
        for name, value in expected(row, path).items():
            if abs(float(row[name]) - value) > max(DIGITS, 1e-4 * value):
                sys.exit(f"{path}: {name} is {row[name]}, computed {value}")
    print(f"{len(rows)} rows: the same")


if __name__ == "__main__":
    main()
