"""Token streams in Megatron-LM's indexed format: PREFIX.bin holds the tokens, PREFIX.idx the header, lengths and offsets."""

import struct

import numpy as np

DTYPES = {8: np.dtype("<u2"), 4: np.dtype("<i4")}  # codes of the format


def write(prefix, documents, code):
    """`documents`: one integer array each; code 8: 16 bits, 4: 32 bits."""
    dtype = DTYPES[code]
    lengths = [len(document) for document in documents]
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]) * dtype.itemsize
    with open(f"{prefix}.bin", "wb") as file:
        file.write(np.concatenate(documents).astype(dtype).tobytes())
    with open(f"{prefix}.idx", "wb") as file:
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(lengths), len(lengths) + 1))
        file.write(np.asarray(lengths, "<i4").tobytes())
        file.write(offsets.astype("<i8").tobytes())
        file.write(np.arange(len(lengths) + 1, dtype="<i8").tobytes())


def read(prefix):
    """All tokens as one array; the width comes from the index."""
    with open(f"{prefix}.idx", "rb") as file:
        header = file.read(34)
    magic, version, code = header[:9], *struct.unpack("<QB", header[9:18])
    if magic != b"MMIDIDX\0\0" or version != 1:
        raise ValueError(f"{prefix}.idx is not an index of version 1")
    return np.fromfile(f"{prefix}.bin", dtype=DTYPES[code]).astype(np.int64)
