"""Keyed BLAKE2b of many short texts: eight bytes of each, the same as the standard library gives.

A ledger knows units by pseudonyms. The standard library makes one at a time, a call of Python for each of a
million units; here they are made in one pass. After RFC 7693.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Four = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

BLOCK = 128
DIGEST = 8
# The first 64 bits behind the point of the square roots of the first eight primes.
BEGIN = np.array(
    [
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    ],
    dtype=np.uint64,
)  # fmt: skip
# In which order each round takes the words of a block; the eleventh and twelfth are as the first two.
ORDER = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    ],
    dtype=np.int64,
)


@compiled
def _turn(word: np.uint64, n: int) -> np.uint64:
    return (word >> np.uint64(n)) | (word << np.uint64(64 - n))


@compiled
def _stir(a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64, x: np.uint64, y: np.uint64) -> Four:
    a = a + b + x
    d = _turn(d ^ a, 32)
    c = c + d
    b = _turn(b ^ c, 24)
    a = a + b + y
    d = _turn(d ^ a, 16)
    c = c + d
    return a, _turn(b ^ c, 63), c, d


@compiled
def _compress(state: Words, block: Words, n_bytes: int, last: bool) -> None:
    """Stir a block of sixteen words into the state."""
    a0, a1, a2, a3 = state[0], state[1], state[2], state[3]
    b0, b1, b2, b3 = state[4], state[5], state[6], state[7]
    c0, c1, c2, c3 = BEGIN[0], BEGIN[1], BEGIN[2], BEGIN[3]
    d0, d1, d2, d3 = BEGIN[4] ^ np.uint64(n_bytes), BEGIN[5], BEGIN[6], BEGIN[7]
    if last:
        d2 = ~d2
    for number in range(12):
        at = ORDER[number]
        # The columns of four by four words, then the diagonals.
        a0, b0, c0, d0 = _stir(a0, b0, c0, d0, block[at[0]], block[at[1]])
        a1, b1, c1, d1 = _stir(a1, b1, c1, d1, block[at[2]], block[at[3]])
        a2, b2, c2, d2 = _stir(a2, b2, c2, d2, block[at[4]], block[at[5]])
        a3, b3, c3, d3 = _stir(a3, b3, c3, d3, block[at[6]], block[at[7]])
        a0, b1, c2, d3 = _stir(a0, b1, c2, d3, block[at[8]], block[at[9]])
        a1, b2, c3, d0 = _stir(a1, b2, c3, d0, block[at[10]], block[at[11]])
        a2, b3, c0, d1 = _stir(a2, b3, c0, d1, block[at[12]], block[at[13]])
        a3, b0, c1, d2 = _stir(a3, b0, c1, d2, block[at[14]], block[at[15]])
    state[0] ^= a0 ^ c0
    state[1] ^= a1 ^ c1
    state[2] ^= a2 ^ c2
    state[3] ^= a3 ^ c3
    state[4] ^= b0 ^ d0
    state[5] ^= b1 ^ d1
    state[6] ^= b2 ^ d2
    state[7] ^= b3 ^ d3


@compiled
def keyed_hashes(texts: Bytes, offsets: Integers, key: Bytes) -> Words:
    """Hash every text under a key.

    Parameters
    ----------
    texts
        The bytes of all texts, one after the other.
    offsets
        Where each begins, and where the last ends.
    key
        The key, of 1 to 64 bytes.

    Returns
    -------
    For every text the number that its digest of eight bytes is, little end first.
    """
    found = np.empty(len(offsets) - 1, dtype=np.uint64)
    block = np.zeros(16, dtype=np.uint64)
    begun, state = BEGIN.copy(), np.empty(8, dtype=np.uint64)
    begun[0] ^= np.uint64(0x01010000 ^ (len(key) << 8) ^ DIGEST)
    for place in range(len(key)):
        block[place // 8] |= np.uint64(key[place]) << np.uint64(8 * (place % 8))
    # The key is a block before the text; with no text it is the only one.
    alone = begun.copy()
    _compress(alone, block, BLOCK, True)
    _compress(begun, block, BLOCK, False)
    for number in range(len(found)):
        start, stop = offsets[number], offsets[number + 1]
        if start == stop:
            found[number] = alone[0]
            continue
        state[:] = begun
        n_bytes = BLOCK
        while start < stop:
            n = min(BLOCK, stop - start)
            block[:] = 0
            for place in range(n):
                block[place // 8] |= np.uint64(texts[start + place]) << np.uint64(8 * (place % 8))
            start += n
            n_bytes += n
            _compress(state, block, n_bytes, start == stop)
        found[number] = state[0]
    return found


def warm_up() -> None:
    """Compile for the types that are used."""
    # As they come from a buffer, which is only read.
    offsets = np.frombuffer(np.array([0, 1], dtype=np.int64).tobytes(), dtype=np.int64)
    keyed_hashes(np.frombuffer(b"a", dtype=np.uint8), offsets, np.frombuffer(bytes(32), dtype=np.uint8))
