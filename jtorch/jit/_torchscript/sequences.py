"""Recurrent layers as the code of archives."""

from __future__ import annotations

from typing import Any

from .texts import literal


def _weights(module: Any, names: list[str]) -> str:
    return ", ".join(f"self.{n}" if getattr(module, n, None) is not None else "None" for n in names)


def of_layer(module: Any, name: str) -> str | None:
    """The ``forward`` of an LSTM, GRU or RNN, or of a cell of these; None for others. Of packed
    sequences it knows nothing."""
    if name in ("LSTM", "GRU", "RNN"):
        return _whole(module, name)
    if name in ("LSTMCell", "GRUCell", "RNNCell"):
        return _cell(module, name)
    return None


def _head(pair: bool, results: str) -> str:
    state = "Optional[Tuple[Tensor, Tensor]]" if pair else "Optional[Tensor]"
    return f"  def forward(self: @, input: Tensor, hx: {state}=None) -> {results}:\n"


def _states(pair: bool, dim: int, sizes: list[str]) -> str:
    """The lines that make the states, of which there are zeros where none are given."""
    names = ["h", "c"] if pair else ["h"]
    zeros = "".join(
        f"      {n} = torch.new_zeros(x, {size})\n" for n, size in zip(names, sizes, strict=True)
    )
    apart = "      h, c, = hx\n" if pair else "      h = hx\n"
    batches = "".join(f"        {n} = torch.unsqueeze({n}, {dim})\n" for n in names)
    return f"    if hx is None:\n{zeros}    else:\n{apart}      if not(batched):\n{batches}"


def _whole(module: Any, name: str) -> str:
    pair, batch = name == "LSTM", 0 if module.batch_first else 1
    rows = module.num_layers * (2 if module.bidirectional else 1)
    sizes = [f"[{rows}, n, {module.proj_size or module.hidden_size}]"]
    if pair:
        sizes.append(f"[{rows}, n, {module.hidden_size}]")
    operator = {"LSTM": "lstm", "GRU": "gru"}.get(name) or f"rnn_{module.nonlinearity.lower()}"
    rest = ", ".join([
        literal(bool(module.bias)), literal(module.num_layers), literal(float(module.dropout)),
        "self.training", literal(module.bidirectional), literal(module.batch_first),
    ])  # fmt: skip
    found = "h1, c1" if pair else "h1"
    apart = "".join(f"      {n} = torch.squeeze({n}, 1)\n" for n in found.split(", "))
    result = "(h1, c1)" if pair else "h1"
    return (
        _head(pair, f"Tuple[Tensor, {'Tuple[Tensor, Tensor]' if pair else 'Tensor'}]")
        + "    batched = torch.eq(torch.dim(input), 3)\n"
        f"    if batched:\n      x = input\n    else:\n      x = torch.unsqueeze(input, {batch})\n"
        f"    n = torch.size(x, {batch})\n{_states(pair, 1, sizes)}"
        f"    y, {found}, = torch.{operator}(x, {'[h, c]' if pair else 'h'}, "
        f"[{_weights(module, module._flat_weights_names)}], {rest})\n"
        f"    if not(batched):\n      y = torch.squeeze(y, {batch})\n{apart}"
        f"    return (y, {result})\n"
    )


def _cell(module: Any, name: str) -> str:
    pair = name == "LSTMCell"
    sizes = [f"[torch.size(x, 0), {module.hidden_size}]"] * (2 if pair else 1)
    kind = {"LSTMCell": "lstm", "GRUCell": "gru"}.get(name) or f"rnn_{module.nonlinearity.lower()}"
    weights = _weights(module, ["weight_ih", "weight_hh", "bias_ih", "bias_hh"])
    found = "h1, c1, =" if pair else "h1 ="
    apart = "".join(f"      {n} = torch.squeeze({n}, 0)\n" for n in ["h1", "c1"][: 1 + pair])
    return (
        _head(pair, "Tuple[Tensor, Tensor]" if pair else "Tensor")
        + "    batched = torch.eq(torch.dim(input), 2)\n"
        "    if batched:\n      x = input\n    else:\n      x = torch.unsqueeze(input, 0)\n"
        f"{_states(pair, 0, sizes)}"
        f"    {found} torch.{kind}_cell(x, {'[h, c]' if pair else 'h'}, {weights})\n"
        f"    if not(batched):\n{apart}    return {'(h1, c1)' if pair else 'h1'}\n"
    )
