"""Solves pulls again with libigl (the module igl): ARAP, energy SPOKES, from the same start.

    libigl.py FILE…       as the example arap_pulls of sinew_author writes them

Prints one line per file: {"file", "apart"}, the largest distance of the two solutions over the size."""

import json
import os
import sys

import igl
import numpy as np

ROUNDS, ITERATIONS = 50, 100


def solved(rest, faces, held, start):
    data = igl.ARAPData()
    data.energy = igl.ARAP_ENERGY_TYPE_SPOKES
    data.max_iter = ITERATIONS
    igl.arap_precomputation(rest, faces, 3, held, data)
    now = start
    for _ in range(ROUNDS):
        now = np.ascontiguousarray(igl.arap_solve(np.ascontiguousarray(start[held]), data, now))
    return now


for path in sys.argv[1:]:
    columns = {"v": [], "f": [], "h": [], "s": [], "u": []}
    with open(path, encoding="ascii") as file:
        for line in file:
            mark, *values = line.split()
            columns[mark].append([float(value) for value in values])
    rest, start, ours = (np.array(columns[mark]) for mark in "vsu")
    faces = np.array(columns["f"]).astype(np.int64)
    held = np.array(columns["h"]).astype(np.int32).ravel()
    apart = np.linalg.norm(solved(rest, faces, held, start) - ours, axis=1).max()
    size = np.linalg.norm(rest.max(axis=0) - rest.min(axis=0))
    print(json.dumps({"file": os.path.basename(path), "apart": apart / size}))
