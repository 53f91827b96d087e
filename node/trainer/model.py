"""A decoder-only transformer: RMSNorm, rotary positions, grouped-query attention, SwiGLU; no biases."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

ROTARY_BASE = 500_000.0
INITIAL = 0.02


@dataclass(frozen=True)
class Sizes:
    """Widths and counts; `recompute` says whether a block's activations are computed again in the backward pass."""

    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    recompute: bool = False


class Norm(nn.Module):
    """Root mean square normalisation, in fp32."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x) * self.weight


def rotated(x: Tensor) -> Tensor:
    """Queries or keys [batch, heads, length, head] turned by their positions (halves are the pairs, as in Llama)."""
    length, half = x.shape[-2], x.shape[-1] // 2
    rates = ROTARY_BASE ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
    angles = torch.arange(length, device=x.device, dtype=torch.float32)[:, None] * rates
    cos, sin = angles.cos(), angles.sin()
    one, two = x.float().chunk(2, -1)
    return torch.cat((one * cos - two * sin, two * cos + one * sin), -1).type_as(x)


class Block(nn.Module):
    """Attention and feed-forward part of a layer."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        inner = sizes.heads * sizes.head_dim
        self.before = Norm(sizes.hidden)
        self.queries = nn.Linear(sizes.hidden, inner, bias=False)
        self.keys_values = nn.Linear(sizes.hidden, 2 * sizes.kv_heads * sizes.head_dim, bias=False)
        self.out = nn.Linear(inner, sizes.hidden, bias=False)
        self.between = Norm(sizes.hidden)
        self.gate_up = nn.Linear(sizes.hidden, 2 * sizes.ffn, bias=False)
        self.down = nn.Linear(sizes.ffn, sizes.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self._attend(self.before(x))
        gate, up = self.gate_up(self.between(x)).chunk(2, -1)
        return x + self.down(functional.silu(gate) * up)

    def _attend(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        sizes = self.sizes
        queries = self.queries(x).view(batch, length, sizes.heads, sizes.head_dim).transpose(1, 2)
        both = self.keys_values(x).view(batch, length, 2 * sizes.kv_heads, sizes.head_dim).transpose(1, 2)
        keys, values = both.chunk(2, 1)
        group = sizes.heads // sizes.kv_heads
        keys = rotated(keys).repeat_interleave(group, 1)
        attended = functional.scaled_dot_product_attention(
            rotated(queries), keys, values.repeat_interleave(group, 1), is_causal=True
        )
        return self.out(attended.transpose(1, 2).reshape(batch, length, -1))


class Decoder(nn.Module):
    """Tokens in, mean loss of the next token out."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.embedding = nn.Embedding(sizes.vocab, sizes.hidden)
        self.blocks = nn.ModuleList(Block(sizes) for _ in range(sizes.layers))
        self.norm = Norm(sizes.hidden)
        self.output = nn.Linear(sizes.hidden, sizes.vocab, bias=False)

    def initialise(self) -> None:
        """Normal weights; what adds to the residual stream is smaller, by the number of layers (GPT-2)."""
        for name, weight in self.named_parameters():
            if weight.dim() < 2:
                nn.init.ones_(weight)
                continue
            narrow = (2 * self.sizes.layers) ** -0.5 if name.endswith(("out.weight", "down.weight")) else 1.0
            nn.init.normal_(weight, std=INITIAL * narrow)

    def forward(self, tokens: Tensor) -> Tensor:
        """`tokens` is [batch, length + 1]; the last one is only to be foretold."""
        x = self.embedding(tokens[:, :-1])
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.sizes.recompute and self.training else block(x)
        logits = self.output(self.norm(x)).float()
        return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
