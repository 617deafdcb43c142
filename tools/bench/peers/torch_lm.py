"""The bench model in PyTorch: RMSNorm, rotary attention, SwiGLU; AdamW with clipping. MODE: eager or compile."""
import os
import sys

from sizes import B, D, FF, HEADS, LAYERS, MODE, T, THREADS, VOCAB, serve

os.environ["OMP_NUM_THREADS"] = str(THREADS)
import torch
import torch.nn.functional as F

torch.set_num_threads(THREADS)
torch.manual_seed(0)


def rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = torch.nn.RMSNorm(D), torch.nn.RMSNorm(D)
        self.q, self.k, self.v, self.o = (torch.nn.Linear(D, D, bias=False) for _ in range(4))
        self.w1, self.w3 = torch.nn.Linear(D, FF, bias=False), torch.nn.Linear(D, FF, bias=False)
        self.w2 = torch.nn.Linear(FF, D, bias=False)

    def forward(self, x, cos, sin):
        h = self.n1(x)
        q, k, v = (f(h).view(B, T, HEADS, D // HEADS).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = F.scaled_dot_product_attention(rope(q, cos, sin), rope(k, cos, sin), v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(B, T, D))
        h = self.n2(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class LM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(VOCAB, D)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = torch.nn.RMSNorm(D), torch.nn.Linear(D, VOCAB, bias=False)

    def forward(self, x, y, cos, sin):
        h = self.emb(x)
        for block in self.blocks:
            h = block(h, cos, sin)
        return F.cross_entropy(self.head(self.norm(h)).flatten(0, 1), y.flatten())


model = LM()
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1)
run = torch.compile(model) if MODE == "compile" else model
angles = torch.outer(torch.arange(T), 1e4 ** (-torch.arange(0, D // HEADS, 2) / (D // HEADS)))
cos, sin = angles.cos(), angles.sin()
x, y = torch.randint(VOCAB, (B, T)), torch.randint(VOCAB, (B, T))


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = run(x, y, cos, sin)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    loss.item()


serve(step)
