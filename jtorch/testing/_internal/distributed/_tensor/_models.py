"""Small models of tests of distributed tensors: two layers, and a transformer with attention of
several heads."""

from __future__ import annotations

import dataclasses
from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch.distributed.tensor import Replicate, Shard
from jtorch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from jtorch.utils.checkpoint import checkpoint

Tensor = torch.Tensor


class RMSNormPython(nn.Module):
    """Divides by the root of the mean square."""

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        """Of the last dimension."""
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (x.float() * scale).type_as(x) * self.weight


class MLPModule(nn.Module):
    """Two linear layers, from 10 to 16 and back."""

    def __init__(self, device: Any, bias: bool = True) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.net1 = nn.Linear(10, 16, bias=bias, device=device)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(16, 10, bias=bias, device=device)

    def forward(self, x: Tensor) -> Tensor:
        """Through both."""
        return self.net2(self.relu(self.net1(x)))

    def reset_parameters(self) -> None:
        """Draws the weights anew."""
        self.net1.reset_parameters()
        self.net2.reset_parameters()


class MLPStacked(nn.Module):
    """Several ``MLPModule``."""

    def __init__(self, device: Any, n_layers: int = 2) -> None:
        super().__init__()
        self.layers = nn.ModuleList([MLPModule(device) for _ in range(n_layers)])

    def forward(self, x: Tensor) -> Tensor:
        """Through all."""
        for layer in self.layers:
            x = layer(x)
        return x


@dataclasses.dataclass
class ModelArgs:
    """The sizes of a ``Transformer``."""

    n_layers: int = 2
    vocab_size: int = 8
    max_seq_len: int = 16
    dim: int = 16
    n_heads: int = 4
    dropout_p: float = 0.1
    use_attn_mask: bool = True
    weight_tying: bool = True
    checkpoint_activations: bool = False
    num_experts: int = 0


class Attention(nn.Module):
    """Attention of several heads."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.head_dim, self.n_heads = args.dim // args.n_heads, args.n_heads
        self.dropout_p, self.use_attn_mask = args.dropout_p, args.use_attn_mask
        self.resid_dropout = nn.Dropout(args.dropout_p)
        self.wq, self.wk, self.wv, self.wo = (
            nn.Linear(args.dim, args.dim, bias=False) for _ in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Of (batch, length, dim) to itself."""
        size = (x.shape[0], x.shape[1], -1, self.head_dim)
        q, k, v = (part(x).view(size).transpose(1, 2) for part in (self.wq, self.wk, self.wv))
        found = nn.functional.scaled_dot_product_attention(
            q, k, v, None, self.dropout_p if self.training else 0, self.use_attn_mask
        )
        joined = found.transpose(1, 2).contiguous().view(x.shape[0], x.shape[1], -1)
        return self.resid_dropout(self.wo(joined))


class FeedForward(nn.Module):
    """Two linear layers with dropout behind."""

    def __init__(self, dim: int, hidden_dim: int, dropout_p: float) -> None:
        super().__init__()
        self.w1 = nn.Linear(dim, hidden_dim)
        self.gelu = nn.GELU()
        self.w2 = nn.Linear(hidden_dim, dim)
        self.resid_dropout = nn.Dropout(dropout_p)

    def forward(self, x: Tensor) -> Tensor:
        """Through both."""
        return self.resid_dropout(self.w2(self.gelu(self.w1(x))))


class TransformerBlock(nn.Module):
    """Attention and two layers, each behind a norm and beside a shortcut."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(args.dim)
        self.attention = Attention(args)
        self.ffn_norm = nn.LayerNorm(args.dim)
        self.feed_forward = FeedForward(args.dim, 4 * args.dim, args.dropout_p)

    def forward(self, x: Tensor) -> Tensor:
        """Of (batch, length, dim)."""
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


class Transformer(nn.Module):
    """Tokens to logits.

    Raises:
        NotImplementedError: for ``num_experts``.
    """

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        if args.num_experts:
            raise NotImplementedError(
                "Transformer with num_experts is not offered by jtorch.testing: packages that have "
                "experts bring their own"
            )
        self.model_args, self.max_seq_len = args, args.max_seq_len
        self.tok_embeddings = nn.Embedding(args.vocab_size, args.dim)
        self.pos_embeddings = nn.Embedding(args.max_seq_len, args.dim)
        self.dropout = nn.Dropout(args.dropout_p)
        self.layers = nn.ModuleList([TransformerBlock(args) for _ in range(args.n_layers)])
        self.norm = nn.LayerNorm(args.dim)
        self.output = nn.Linear(args.dim, args.vocab_size, bias=False)
        if args.weight_tying:
            self.output.weight = self.tok_embeddings.weight
        self.checkpoint_activations = args.checkpoint_activations

    def forward(self, tokens: Tensor) -> Tensor:
        """Of (batch, length) to (batch, length, words)."""
        assert tokens.shape[1] <= self.max_seq_len
        places = torch.arange(tokens.shape[1], device=tokens.device)
        h = self.dropout(self.tok_embeddings(tokens) + self.pos_embeddings(places))
        for layer in self.layers:
            h = (
                checkpoint(layer, h, use_reentrant=False)
                if self.checkpoint_activations
                else layer(h)
            )
        return self.output(self.norm(h)).float()

    @staticmethod
    def parallelize(
        module: Any,
        tp_mesh: Any,
        use_seq_parallel: bool,
        local_output_for_attn: bool = False,
        ep_mesh: Any = None,
    ) -> Any:
        """Spreads a model's layers over a mesh: heads and hidden features, and with
        ``use_seq_parallel`` the sequence between them."""
        del ep_mesh
        if tp_mesh is None:
            return module
        between = Shard(1) if use_seq_parallel else Replicate()
        plan: dict[str, Any] = {
            "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=between),
            "pos_embeddings": RowwiseParallel(
                input_layouts=Replicate(), output_layouts=Shard(0) if use_seq_parallel else between
            ),
            "output": ColwiseParallel(input_layouts=between, output_layouts=Replicate()),
        }
        if use_seq_parallel:
            plan |= {"norm": SequenceParallel(), "dropout": SequenceParallel()}
        parallelize_module(module, tp_mesh, plan)
        for layer in module.layers:
            inner: dict[str, Any] = {
                f"attention.{n}": ColwiseParallel(use_local_output=local_output_for_attn)
                for n in ("wq", "wk", "wv")
            }
            inner["attention.wo"] = RowwiseParallel(output_layouts=between)
            inner["feed_forward.w1"] = ColwiseParallel(input_layouts=between)
            inner["feed_forward.w2"] = RowwiseParallel(output_layouts=between)
            if use_seq_parallel:
                inner["attention"] = PrepareModuleInput(
                    input_layouts=Shard(1), desired_input_layouts=Replicate()
                )
                for n in ("attention_norm", "ffn_norm", "attention.resid_dropout"):
                    inner[n] = SequenceParallel()
                inner["feed_forward.resid_dropout"] = SequenceParallel()
            parallelize_module(layer, tp_mesh, inner)
            if local_output_for_attn:
                layer.attention.n_heads //= tp_mesh.size()
        if module.model_args.weight_tying:
            module.output.weight = module.tok_embeddings.weight
        return module
