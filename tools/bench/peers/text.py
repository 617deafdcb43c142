"""A text through tiktoken or tokenizers, on one thread. PACKAGE; encode or learn; FOLDER (text, vocab.json, merges.txt); tokens to learn."""
import json
import os
import sys
import time

PACKAGE, WORK, FOLDER, VOCAB = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"  # tiktoken's own, which is fast


def tiktoken_encode(text):
    import tiktoken
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    alphabet = {**{chr(b): b for b in printable}, **{chr(256 + i): b for i, b in enumerate(others)}}
    vocabulary = json.load(open(f"{FOLDER}/vocab.json", encoding="utf-8"))
    end = "<|endoftext|>"
    ranks = {bytes(alphabet[c] for c in token): id for token, id in vocabulary.items() if token != end}
    encoding = tiktoken.Encoding("gpt2", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={end: vocabulary[end]})
    return lambda: encoding.encode_ordinary(text)


def tokenizers_encode(text):
    from tokenizers import ByteLevelBPETokenizer
    tokenizer = ByteLevelBPETokenizer(f"{FOLDER}/vocab.json", f"{FOLDER}/merges.txt")
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return lambda: tokenizer.encode(text)


def tokenizers_learn(_):
    from tokenizers import ByteLevelBPETokenizer
    return lambda: ByteLevelBPETokenizer().train(
        [f"{FOLDER}/text"], vocab_size=VOCAB, special_tokens=["<|endoftext|>"], show_progress=False)


step = globals()[f"{PACKAGE}_{WORK}"](open(f"{FOLDER}/text", encoding="utf-8", newline="").read())
for _ in sys.stdin:
    begin = time.perf_counter()
    step()
    print((time.perf_counter() - begin) * 1e3, flush=True)
