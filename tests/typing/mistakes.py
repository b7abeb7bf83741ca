"""Forty mistakes of users: a type checker must report each line that says ``wrong``, and no
other."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor, optim
from torch.distributions import Categorical, Normal, kl_divergence, transforms
from torch.utils.data import DataLoader, TensorDataset

x = torch.rand(2, 3)
layer = nn.Linear(3, 4)

# names that are not there
x.nonsense()  # wrong
x.cudaa()  # wrong
torch.onez(3)  # wrong
torch.linalg.invert(x)  # wrong
F.reluu(x)  # wrong
nn.Linaer(3, 4)  # wrong
optim.Addam(layer.parameters())  # wrong
torch.float31  # wrong
torch.utils.data.DataLoder  # wrong
x.shape.product()  # wrong
torch.device("cpu").name  # wrong
torch.no_grad().start()  # wrong
layer.weight.nonsense()  # wrong
x.max().largest  # wrong
x.max(dim=0).value  # wrong
x.item().numpy()  # wrong
torch.Generator().seeds()  # wrong
torch.cuda.device_counts()  # wrong
torch.optim.lr_scheduler.CosineAnealingLR  # wrong

# arguments that are not there, or too many or too few
torch.zeros(2, 3, dtyp=torch.float32)  # wrong
x.sum(dims=0)  # wrong
torch.add(x, x, beta=2)  # wrong
nn.Linear(3)  # wrong
nn.Linear(3, 4, biass=False)  # wrong
nn.Conv2d(3, 8)  # wrong
F.dropout(x, probability=0.5)  # wrong
optim.Adam(layer.parameters(), learning_rate=1e-3)  # wrong
DataLoader(TensorDataset(x), batchsize=4)  # wrong
torch.cat()  # wrong
torch.sparse_coo_tensor()  # wrong
nn.init.kaiming_normal(x, moda="fan_in")  # wrong
x.backward(retain=True)  # wrong
torch.where(x > 0, x)  # wrong
torch.device("cpu", 0, 1)  # wrong

# values of another kind
x.sum("rows")  # wrong
torch.cat(x, dim="rows")  # wrong
x.view("flat")  # wrong
x.reshape("flat")  # wrong
torch.reshape(x, "flat")  # wrong
x[0]["rows"]  # wrong
x[0, "rows"]  # wrong
x["rows"] = 1  # wrong
nn.Linear("3", 4)  # wrong
torch.device(1.5)  # wrong
count: int = x.sum()  # wrong
text: str = x.shape[0]  # wrong
kept: Tensor = x.tolist  # wrong


def loss_of(y: Tensor) -> float:
    return F.mse_loss(y, torch.zeros_like(y))  # wrong


def gradient(y: Tensor) -> Tensor:
    return y.grad  # wrong


# distributions
normal = Normal("0", 1.0)  # wrong
normal.log_prob("0")  # wrong
normal.sample(3)  # wrong
normal.expand([2]).probs  # wrong
Categorical(0.5)  # wrong
transforms.ExpTransform()("0")  # wrong
kl_divergence(normal, x)  # wrong


with torch.no_grad(1, 2) as off:  # wrong
    pass
