"""Writes numpy.json: files as NumPy (1.24 or later) writes them, and what is in them, for js/test/npy.test.mjs. Run it
again only when cases change: python3 tests/golden/numpy_cases.py
"""

import base64
import io
import json
import warnings
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")  # versions 2 and 3 are asked for
rng = np.random.default_rng(5)


def text(data):
    return base64.b64encode(data).decode()


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version, allow_pickle=True)
    return out.getvalue()


def case(name, array, version=None):
    values = array.astype("f8") if array.dtype.kind != "O" else np.zeros(0)
    return {
        "name": name,
        "file": text(npy(array, version)),
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "values": values.ravel().tolist(),
    }


def arrays():
    for dtype in ["f2", "f4", "f8", "i1", "u1", "i4", "?", "i2", "u2", "u4", "i8", "u8"]:
        if dtype == "?":
            array = rng.random((2, 3)) < 0.5
        elif dtype[0] == "f":
            array = rng.standard_normal((2, 3)).astype(dtype)
        else:
            array = rng.integers(0, 100, (2, 3)).astype(dtype)
        yield dtype, array
        yield dtype + " big-endian", array.astype(np.dtype(dtype).newbyteorder(">"))
        yield dtype + " Fortran order", np.asfortranarray(array)
    yield "no dimension", np.float32(2.5).reshape(())
    yield "one dimension", np.arange(4, dtype="f4")
    yield "empty", np.zeros((0, 3), dtype="f4")
    yield "four dimensions, Fortran order", np.asfortranarray(np.arange(48, dtype="i4").reshape(2, 3, 4, 2))
    yield "big-endian and Fortran order", np.asfortranarray(np.arange(6, dtype=">f8").reshape(2, 3))


def archives():
    contents = {"w": np.arange(300, dtype="f4").reshape(3, 100), "b": np.zeros(3, dtype="f8"), "n": np.int32(7)}
    for name, save in [("stored", np.savez), ("deflated", np.savez_compressed)]:
        out = io.BytesIO()
        save(out, **contents)
        yield {
            "name": name,
            "file": text(out.getvalue()),
            "arrays": {key: {"shape": list(np.shape(a)), "values": np.ravel(a).astype("f8").tolist()} for key, a in contents.items()},
        }


result = {
    "arrays": [case(name, array) for name, array in arrays()]
    + [case(f"version {v[0]}", np.arange(6, dtype="f4").reshape(2, 3), v) for v in [(1, 0), (2, 0), (3, 0)]],
    "refused": [
        {"name": "objects", "file": text(npy(np.array([{}, None], dtype="O")))},
        {"name": "records", "file": text(npy(np.zeros(2, dtype=[("a", "f4"), ("b", "i4")])))},
        {"name": "complex", "file": text(npy(np.zeros(2, dtype="c8")))},
        {"name": "texts", "file": text(npy(np.array(["a", "bc"])))},
    ],
    "archives": list(archives()),
}
lists = (f'"{name}": [\n' + ",\n".join(map(json.dumps, cases)) + "\n]" for name, cases in result.items())
Path(__file__).with_name("numpy.json").write_text("{\n" + ",\n".join(lists) + "\n}\n")
