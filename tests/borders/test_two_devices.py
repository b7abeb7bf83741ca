"""Two virtual CPU devices, in a process of their own: moves, placement of results, and errors where
devices meet."""

from __future__ import annotations

import os
import subprocess
import sys

#: Each statement says what must hold; the first that does not ends the process with its line.
PROGRAM = """
import io
import jtorch as torch
from jtorch import nn

def refuses(function, *names):
    try:
        function()
    except RuntimeError as error:
        assert "at least two devices" in str(error) and all(n in str(error)
                                                            for n in names), str(error)
    else:
        raise AssertionError("gave a result")

first, second = torch.device("cpu"), torch.device("cpu:1")
a, b = torch.arange(2.0), torch.ones(2, device="cpu:1")

# placement
assert (a.device, b.device) == (first, second) and first != second
assert len({str(d) for t in (a, b) for d in t.jax().devices()}) == 2
for made in (b * 2, b + torch.tensor(3.0), torch.tensor(3.0) * b, b.new_ones(3),
             torch.zeros_like(b), b[0], b.sum(), b.view(2, 1),
             b.clone(), torch.randn(2, device=second), torch.arange(3, device=second),
             torch.tensor([1], device=second), torch.eye(2, device=second),
             torch.full((2,), 3.0, device=second), torch.empty_like(b), torch.ones_like(b)):
    assert made.device == second, made
    assert made.jax().devices() == b.jax().devices()
with torch.device("cpu:1"):
    assert torch.ones(1).device == torch.tensor([1]).device == nn.Linear(1,
        1).weight.device == second
assert torch.ones(1).device == first

# moves
moved = a.to("cpu:1")
assert moved.device == second and moved.tolist() == [0.0, 1.0]
assert moved.to(second) is moved and moved.to("cpu:0").device == moved.cpu().device == first
moved.add_(1)
assert a.tolist() == [0.0, 1.0]
assert (a.copy_(b * 3) is a) and a.device == first and a.tolist() == [3.0, 3.0]
leaf = torch.ones(2, requires_grad=True)
(leaf.to(second) * 2).sum().backward()
assert leaf.grad.device == first and leaf.grad.tolist() == [2.0, 2.0]

# where they meet
for function in (lambda: a + b, lambda: b + a, lambda: torch.cat([a, b]),
                 lambda: torch.stack([a, b]), lambda: a @ b, lambda: a.add_(b),
                 lambda: torch.where(a > 0, b, a), lambda: nn.functional.linear(a[None], b[None])):
    refuses(function, "cpu:1")
assert a.tolist() == [3.0, 3.0]

# modules, optimisers, files
model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).to(second)
assert {t.device for t in model.state_dict().values()} == {second}
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
model(torch.ones(4, 2, device=second)).square().sum().backward()
assert {p.grad.device for p in model.parameters()} == {second}
optimizer.step()
assert {p.device
        for p in model.parameters()} == {optimizer.state[model[0].weight]["exp_avg"].device} == {
            second}
for name in ("SGD", "Adam", "RMSprop"):  # parameters of one optimiser on both
    apart = [torch.ones(2, device=device, requires_grad=True) for device in (first, second)]
    for p in apart:
        p.grad = torch.ones_like(p)
    optimizer = getattr(torch.optim, name)(apart, lr=0.1)
    optimizer.step()
    optimizer.step()
    assert [p.device for p in apart] == [first,
                                         second] and apart[0].tolist() == apart[1].tolist() != [1.0,
                                             1.0], name
refuses(lambda: model(torch.ones(4, 2)), "cpu:1")
file = io.BytesIO()
torch.save(model.state_dict(), file)
for place in (first, second):
    file.seek(0)
    assert {t.device for t in torch.load(file, map_location=place).values()} == {place}

# what is not there
try:
    torch.ones(1, device="cpu:2")
except RuntimeError as error:
    assert "cpu:2" in str(error) and "2 devices" in str(error), error
else:
    raise AssertionError("there is no third device")
print("done")
"""


def test_two_devices() -> None:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr
