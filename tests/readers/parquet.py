#!/usr/bin/env python3
"""Reads samples as Parquet with pyarrow, and compares them with the same samples as CSV, value by value."""
import csv
import sys

import pyarrow.parquet


def main() -> None:
    parquet, text = sys.argv[1:]
    file = pyarrow.parquet.ParquetFile(parquet)
    table = file.read()
    with open(text, newline="") as lines:
        rows = list(csv.DictReader(lines))
    heads = list(rows[0])
    if table.column_names != heads:
        sys.exit(f"columns {table.column_names}, in CSV {heads}")
    if table.num_rows != len(rows):
        sys.exit(f"{table.num_rows} rows, in CSV {len(rows)}")
    for head in heads:
        for number, (value, row) in enumerate(zip(table[head].to_pylist(), rows)):
            if ("" if value is None else str(value)) != row[head]:
                sys.exit(f"row {number}, {head}: {value!r}, in CSV {row[head]!r}")
    kinds = {str(kind) for kind in table.schema.types}
    print(f"{table.num_rows} rows in {file.num_row_groups} groups, {len(heads)} columns of {sorted(kinds)}: the same")


if __name__ == "__main__":
    main()
