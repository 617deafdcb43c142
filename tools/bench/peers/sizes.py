"""Sizes of the bench model, and the loop that answers a line with a step's milliseconds."""
import sys
import time

MODE, THREADS, QUICK = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "quick"
D, HEADS, FF, LAYERS, VOCAB, T, B = (32, 8, 64, 2, 256, 32, 4) if QUICK else (256, 8, 1024, 4, 4096, 128, 16)


def serve(step):
    """`step()` makes one train step and waits for it."""
    for _ in sys.stdin:
        begin = time.perf_counter()
        step()
        print((time.perf_counter() - begin) * 1e3, flush=True)
