"""The 124M Transformer LM of tools/gpu-check.sh in PyTorch, on a GPU: torch_lm_124m.py RESULT.json [LAYERS]

bf16 by autocast, fused AdamW, flash attention; eager, then torch.compile. Writes what it has after each.
"""
import json
import sys
import time

import torch
import torch.nn.functional as F

D, HEADS, FF, VOCAB, T, B = 768, 12, 2048, 50257, 1024, 8
LAYERS = int(sys.argv[2]) if len(sys.argv) > 2 else 12
H = D // HEADS


def rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = torch.nn.RMSNorm(D), torch.nn.RMSNorm(D)
        self.q, self.k, self.v, self.o = (torch.nn.Linear(D, D, bias=False) for _ in range(4))
        self.w1, self.w3 = torch.nn.Linear(D, FF, bias=False), torch.nn.Linear(D, FF, bias=False)
        self.w2 = torch.nn.Linear(FF, D, bias=False)

    def forward(self, x, cos, sin):
        h = self.n1(x)
        q, k, v = (f(h).view(B, T, HEADS, H).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = F.scaled_dot_product_attention(rope(q, cos, sin), rope(k, cos, sin), v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(B, T, D))
        h = self.n2(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class LM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(VOCAB, D)
        torch.nn.init.normal_(self.emb.weight, std=0.02)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = torch.nn.RMSNorm(D)

    def forward(self, x, y, cos, sin):
        h = self.emb(x)
        for block in self.blocks:
            h = block(h, cos, sin)
        return F.cross_entropy(F.linear(self.norm(h), self.emb.weight).flatten(0, 1).float(), y.flatten())


def measure(mode, steps=20):
    torch.manual_seed(0)
    torch.cuda.reset_peak_memory_stats()
    model = LM().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    run = torch.compile(model) if mode == "compile" else model
    angles = torch.outer(torch.arange(T), 1e4 ** (-torch.arange(0, H, 2) / H)).cuda()
    cos, sin = angles.cos(), angles.sin()
    x, y = (torch.randint(VOCAB, (B, T), device="cuda") for _ in range(2))
    seconds = []
    for _ in range(steps + 3):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = run(x, y, cos, sin)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    median = sorted(seconds[3:])[steps // 2]
    return {"framework": f"PyTorch {torch.__version__}", "mode": mode, "median_ms": median * 1e3,
            "tokens_per_s": B * T / median, "first_step_s": seconds[0],
            "peak_bytes": torch.cuda.max_memory_allocated()}


results = []
for mode in ("eager", "compile"):
    results.append(measure(mode))
    r = results[-1]
    print(f"{r['framework']}, {mode}: median {r['median_ms']:.4g} ms, {r['tokens_per_s']:.0f} tokens/s", flush=True)
    with open(sys.argv[1], "w") as file:
        json.dump(results, file, indent=1)
