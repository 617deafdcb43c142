#!/usr/bin/env python3
"""Compares the tokenizer with the packages `tokenizers` and `tiktoken` on random text.

  tokenizer_peers.py MINIGPTC [BYTES]

For each pattern: trains a tokenizer on such text, loads its tokenizer.json with `tokenizers` and
its vocabulary with `tiktoken`, and compares the ids of BYTES bytes of other text. Broken UTF-8 goes
through the pattern as characters that stand for bytes, then bytes through tiktoken's merges.
Exit status 77 if a package is missing.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import tiktoken
    import tokenizers
except ImportError as missing:
    print(f"skipped: {missing} (pip install tokenizers tiktoken)")
    sys.exit(77)

SPECIALS = ["<|endoftext|>", "<|end|>", "<|endoftext|><|endoftext|>", "\u2603\u2603", "[PAD]"]
BLANKS = [" ", "\t", "\n", "\r", "\r\n", "\v", "\f", "\x85", "\xa0", "\u1680", "\u2003", "\u2028", "\u202f", "\u3000"]
WORDS = ("the of and don't I'll we've they're he's I'D CAN'T it'ſ ''s 'lL naïve Straße привет мир "
         "你好世界 こんにちは 안녕하세요 नमस्ते สวัสดี שלום مرحبا e\u0301te\u0301 ﬁn ǅ 𝒜𝓫𝒸 ²³ ½ Ⅷ ٣٤ 一二").split()
RANGES = [(0x20, 0x7f), (0xa0, 0x250), (0x300, 0x370), (0x370, 0x600), (0x900, 0xe80), (0x1e00, 0x2100),
          (0x2100, 0x2c00), (0x3000, 0x3200), (0x4e00, 0x5000), (0xac00, 0xad00), (0xfb00, 0x10000),
          (0x1d400, 0x1d800), (0x1f300, 0x1fb00), (0x20000, 0x20100), (0xe000, 0xe010), (0, 0x110000)]
EMOJI = ["😀", "👨\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "👍🏽", "🇩🇪", "e\u0301\u0323\u0302", "\u200b", "\ufeff", "\ufffd"]


def char(rng):
    low, high = rng.choice(RANGES)
    code = rng.randrange(low, high)
    taken = 0xd800 <= code < 0xe000 or 0xf0000 <= code < 0xf0100  # surrogates; see "private"
    return "?" if taken else chr(code)


def fragment(rng):
    kind = rng.randrange(14)
    if kind < 4:
        return rng.choice(WORDS) + (" " if rng.random() < 0.7 else "")
    if kind == 4:
        return "".join(rng.choice(BLANKS) for _ in range(rng.choice([1, 1, 2, 3, 60])))
    if kind == 5:
        return rng.choice(BLANKS) * rng.choice([1, 2, 7, 300])
    if kind == 6:
        return "".join(rng.choice("0123456789٠١²ⅧⅣ½") for _ in range(rng.choice([1, 3, 4, 40])))
    if kind == 7:
        return rng.choice(SPECIALS)
    if kind == 8:
        special = rng.choice(SPECIALS)
        begin = rng.randrange(len(special))
        return special[begin:rng.randrange(begin, len(special)) + 1]
    if kind == 9:
        return rng.choice(EMOJI)
    if kind == 10:
        return "".join(char(rng) for _ in range(rng.choice([1, 2, 5, 30])))
    if kind == 11:
        return "".join(rng.choice("!?.,;:'\"()[]{}<>|/\\-_=+*&^%$#@~`") for _ in range(rng.choice([1, 1, 2, 9])))
    if kind == 12:
        return chr(rng.randrange(0x20)) * rng.choice([1, 2])
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(rng.choice([1, 4, 12, 80])))


def text(rng, size):
    parts, length = [], 0
    while length < size:
        parts.append(fragment(rng))
        length += len(parts[-1].encode())
    return "".join(parts)


def broken(rng, size):
    """Bytes with errors of every kind."""
    data = bytearray()
    while len(data) < size:
        part = bytearray(text(rng, rng.choice([10, 100])).encode())
        for _ in range(rng.choice([0, 1, 3])):
            at = rng.randrange(len(part))
            kind = rng.randrange(3)
            if kind == 0:
                part[at] = rng.randrange(256)
            elif kind == 1:
                del part[at]
            else:
                part[at:at] = bytes(rng.randrange(0x80, 256) for _ in range(rng.choice([1, 2, 5])))
            if not part:
                part += b"a"
        data += part
    return bytes(data)


def byte_alphabet():
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    return {**{chr(b): b for b in printable}, **{chr(256 + i): b for i, b in enumerate(others)}}


ALPHABET = byte_alphabet()
# A byte of broken UTF-8 as a character of a private plane, which is neither letter, number nor blank.
import codecs
codecs.register_error("private", lambda e: ("".join(chr(0xf0000 + b) for b in e.object[e.start:e.end]), e.end))


def to_bytes(piece):
    out = bytearray()
    for c in piece:
        out += bytes([ord(c) - 0xf0000]) if 0xf0000 <= ord(c) < 0xf0100 else c.encode()
    return bytes(out)


class Peers:
    def __init__(self, folder):
        self.hf = tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")
        vocabulary = json.load(open(f"{folder}/vocab.json", encoding="utf-8"))
        self.specials = {t: i for t, i in vocabulary.items() if t in SPECIALS}
        ranks = {bytes(ALPHABET[c] for c in t): i for t, i in vocabulary.items() if t not in SPECIALS}
        steps = json.load(open(f"{folder}/tokenizer.json", encoding="utf-8"))["pre_tokenizer"]
        pattern = (steps["pretokenizers"][0]["pattern"]["Regex"] if steps["type"] == "Sequence"
                   else r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
        self.tiktoken = tiktoken.Encoding("peer", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        self.split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")

    def segments(self, text):
        """The text between special tokens, and these: leftmost, longest first."""
        import re
        special = "|".join(re.escape(t) for t in sorted(self.specials, key=len, reverse=True))
        return re.split(f"({special})", text)

    def ids(self, text):
        ids = []
        for part in self.segments(text):
            if part in self.specials:
                ids.append(self.specials[part])
            else:
                ids += self.tiktoken.encode_ordinary(part)
        return ids

    def broken_ids(self, data):
        ids = []
        for part in self.segments(data.decode("utf-8", errors="private")):
            if part in self.specials:
                ids.append(self.specials[part])
                continue
            for piece, _ in self.split.pre_tokenize_str(part):
                ids += self.tiktoken.encode_single_piece(to_bytes(piece)) if hasattr(
                    self.tiktoken, "encode_single_piece") else self.tiktoken._encode_single_piece(to_bytes(piece))
        return ids


def minigptc(*arguments, data=None):
    run = subprocess.run([MINIGPTC, "tokenizer", *arguments], input=data, capture_output=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit {run.returncode}: {run.stderr.decode()}")
    return run.stdout


def compare(what, data, ours, theirs):
    if ours == theirs:
        return
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    path = os.path.join(tempfile.gettempdir(), "tokenizer-difference.txt")
    open(path, "wb").write(data)
    sys.exit(f"{what}: ids differ at {at} of {len(theirs)}: {ours[at - 2:at + 4]} where it has "
             f"{theirs[at - 2:at + 4]}; the text is in {path}")


def check(name, size, folder):
    """Of a pattern; "qwen2 NFC" is that with Unicode's normal form, as Qwen's tokenizers have it."""
    pattern, normal = name.split()[0], name.endswith("NFC")
    rng = random.Random(name)
    corpus, tokenizer = f"{folder}/{pattern}.txt", f"{folder}/{pattern}"
    open(corpus, "wb").write(text(rng, 300000).replace("\0", "").encode())
    minigptc("train", "--text", corpus, "--vocab-size", "3000", "--pattern", pattern, "-o", tokenizer,
             *(x for s in SPECIALS for x in ("--special", s)))
    if normal:
        description = json.load(open(f"{tokenizer}/tokenizer.json", encoding="utf-8"))
        description["normalizer"] = {"type": "NFC"}
        json.dump(description, open(f"{tokenizer}/tokenizer.json", "w"))
    peers, done = Peers(tokenizer), 0
    while done < size:
        chunk = min(500000, size)
        valid, bad = text(rng, chunk * 3 // 4), broken(rng, chunk // 4)
        cases = [("tokenizers", valid.encode(), lambda: peers.hf.encode(valid).ids)]
        if not normal:
            cases += [("tiktoken", valid.encode(), lambda: peers.ids(valid)),
                      ("broken UTF-8", bad, lambda: peers.broken_ids(bad))]
        for peer, data, encode in cases:
            ours = [int(i) for i in minigptc("encode", "--tokenizer", tokenizer, data=data).split()]
            compare(f"{name}, {peer}", data, ours, encode())
            back = minigptc("decode", "--tokenizer", tokenizer, data=" ".join(map(str, ours)).encode())
            if back != data and not normal:
                sys.exit(f"{name}: the text does not come back")
            done += 0 if peer == "tiktoken" else len(data)
    print(f"{name}: {done} bytes, no difference", flush=True)


MINIGPTC = sys.argv[1]
SIZE = int(sys.argv[2]) if len(sys.argv) > 2 else 200000
with tempfile.TemporaryDirectory() as folder:
    for name in ("gpt2", "llama3", "qwen2", "qwen2 NFC"):
        check(name, SIZE, folder)
