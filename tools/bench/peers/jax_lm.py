"""The bench model in JAX: RMSNorm, rotary attention, SwiGLU; AdamW with clipping. One jitted step."""
import os

from sizes import B, D, FF, HEADS, LAYERS, T, THREADS, VOCAB, serve

os.environ["JAX_PLATFORMS"] = "cpu"
os.sched_setaffinity(0, set(list(sorted(os.sched_getaffinity(0)))[:THREADS]))
import jax
import jax.numpy as jnp

H = D // HEADS
angles = jnp.outer(jnp.arange(T), 1e4 ** (-jnp.arange(0, H, 2) / H))
COS, SIN = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]


def init(key):
    def matrix(key, *shape):
        return jax.random.normal(key, shape) * shape[0] ** -0.5

    def block(key):
        k = jax.random.split(key, 7)
        shapes = dict(q=(D, D), k=(D, D), v=(D, D), o=(D, D), w1=(D, FF), w3=(D, FF), w2=(FF, D))
        return dict({n: matrix(k[i], *s) for i, (n, s) in enumerate(shapes.items())}, n1=jnp.ones(D), n2=jnp.ones(D))

    keys = jax.random.split(key, LAYERS + 2)
    return dict(emb=jax.random.normal(keys[0], (VOCAB, D)), head=matrix(keys[1], D, VOCAB), norm=jnp.ones(D),
                blocks=[block(k) for k in keys[2:]])


def norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def rope(x):
    a, b = x[..., 0::2], x[..., 1::2]
    return jnp.stack((a * COS - b * SIN, a * SIN + b * COS), -1).reshape(x.shape)


def loss_of(params, x, y):
    h = params["emb"][x]
    mask = jnp.tril(jnp.ones((T, T), bool))
    for p in params["blocks"]:
        n = norm(h, p["n1"])
        q, k, v = ((n @ p[i]).reshape(B, T, HEADS, H) for i in "qkv")
        s = jnp.einsum("bqhd,bkhd->bhqk", rope(q), rope(k)) * H**-0.5
        a = jax.nn.softmax(jnp.where(mask, s, -jnp.inf), -1)
        h = h + jnp.einsum("bhqk,bkhd->bqhd", a, v).reshape(B, T, D) @ p["o"]
        n = norm(h, p["n2"])
        h = h + (jax.nn.silu(n @ p["w1"]) * (n @ p["w3"])) @ p["w2"]
    logits = norm(h, params["norm"]) @ params["head"]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, y[..., None], -1)[..., 0])


def train_step(params, m, v, t, x, y):
    loss, grads = jax.value_and_grad(loss_of)(params, x, y)
    size = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / (size + 1e-6)), grads)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    v = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, v, grads)
    c1, c2 = 1 - 0.9**t, 1 - 0.95**t
    params = jax.tree.map(lambda p, m, v: p - 6e-4 * (m / c1 / (jnp.sqrt(v / c2) + 1e-8) + 0.1 * p), params, m, v)
    return params, m, v, loss


jitted = jax.jit(train_step, donate_argnums=(0, 1, 2))
params = init(jax.random.key(0))
state = [params, jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)]
x, y = (jax.random.randint(jax.random.key(i), (B, T), 0, VOCAB) for i in (1, 2))
count = 0


def step():
    global count
    count += 1
    *state[:], loss = jitted(*state, float(count), x, y)
    loss.block_until_ready()


serve(step)
