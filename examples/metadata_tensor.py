"""Measurements that remember where they come from: an array type of one's own, made with
``__torch_function__``.

``MetadataTensor`` is no subclass of Tensor. It holds a tensor and a dictionary, and because it has
a ``__torch_function__`` it can be given to any PyTorch function: the function runs on the tensors
inside, and what comes out carries the dictionary on. So units and sources survive arithmetic,
reductions, indexing and whole formulas, while every number is still computed by PyTorch.

The data are Michelson's hundred determinations of the speed of light in air, made at Annapolis in
1879: five experiments of twenty runs each, in km/s above 299,000 (published in Astronomical Papers
1, 1880; the table that statisticians know as "morley").
"""

import torch


def unwrapped(x):
    """``x`` with every MetadataTensor replaced by the tensor in it, also inside lists and
    tuples."""
    if isinstance(x, MetadataTensor):
        return x.data
    if isinstance(x, (list, tuple)):
        return type(x)(unwrapped(item) for item in x)
    return x


def wrapped(x, metadata):
    """``x`` with every tensor replaced by a MetadataTensor, also inside lists and tuples; sizes,
    numbers and dtypes stay."""
    if isinstance(x, torch.Tensor):
        return MetadataTensor(x, metadata)
    if type(x) in (list, tuple):
        return type(x)(wrapped(item, metadata) for item in x)
    if isinstance(x, tuple) and hasattr(x, "values"):  # a named result such as that of torch.sort
        return tuple(wrapped(item, metadata) for item in x)
    return x


def first_metadata(args):
    """The dictionary of the first MetadataTensor among the arguments; it is the one that the result
    keeps."""
    for x in args:
        if isinstance(x, MetadataTensor):
            return x.metadata
        if isinstance(x, (list, tuple)) and (found := first_metadata(x)) is not None:
            return found
    return None


class MetadataTensor:
    """A tensor with a dictionary of facts about it."""

    def __init__(self, data, metadata=None, **options):
        self.data = torch.as_tensor(data, **options)
        self.metadata = dict(metadata or {})

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(t, (cls, torch.Tensor)) for t in types):
            return NotImplemented  # another array type is involved: let it decide
        kwargs = kwargs or {}
        metadata = first_metadata([*args, *kwargs.values()])
        result = func(*unwrapped(args), **{name: unwrapped(x) for name, x in kwargs.items()})
        return wrapped(result, metadata)

    def noting(self, **facts):
        """The same data with more, or corrected, facts."""
        return MetadataTensor(self.data, {**self.metadata, **facts})

    # What the protocol does not reach are Python's own operators: each of them hands over to a
    # PyTorch function, which comes back here.
    def __add__(self, other):
        return torch.add(self, other)

    def __sub__(self, other):
        return torch.sub(self, other)

    def __mul__(self, other):
        return torch.mul(self, other)

    def __truediv__(self, other):
        return torch.div(self, other)

    def __getitem__(self, index):
        return wrapped(self.data[unwrapped(index)], self.metadata)

    def __repr__(self):
        facts = "\n".join(f"  {name}: {value}" for name, value in self.metadata.items())
        return f"{self.data!r}\n{facts}"


RUNS = [
    [
        850,
        740,
        900,
        1070,
        930,
        850,
        950,
        980,
        980,
        880,
        1000,
        980,
        930,
        650,
        760,
        810,
        1000,
        1000,
        960,
        960,
    ],
    [
        960,
        940,
        960,
        940,
        880,
        800,
        850,
        880,
        900,
        840,
        830,
        790,
        810,
        880,
        880,
        830,
        800,
        790,
        760,
        800,
    ],
    [
        880,
        880,
        880,
        860,
        720,
        720,
        620,
        860,
        970,
        950,
        880,
        910,
        850,
        870,
        840,
        840,
        850,
        840,
        840,
        840,
    ],
    [
        890,
        810,
        810,
        820,
        800,
        770,
        760,
        740,
        750,
        760,
        910,
        920,
        890,
        860,
        880,
        720,
        840,
        850,
        850,
        780,
    ],
    [
        890,
        840,
        780,
        810,
        760,
        810,
        790,
        810,
        820,
        850,
        870,
        870,
        810,
        740,
        810,
        940,
        950,
        800,
        810,
        870,
    ],
]
AIR_TO_VACUUM = 1.000272  # refractive index of air, about as it was that summer
DEFINED = 299_792.458  # km/s in vacuum, exact since 1983


def main():
    facts = {
        "quantity": "speed of light in air, above 299,000",
        "unit": "km/s",
        "observer": "A. A. Michelson, 1879",
    }
    excess = MetadataTensor(RUNS, facts, dtype=torch.float64)

    in_air = (excess + 299_000).noting(quantity="speed of light in air")
    print("The first runs of each experiment:", in_air[:, :4], sep="\n")

    means = torch.mean(in_air, dim=1)
    errors = torch.std(in_air, dim=1) / in_air.data.shape[1] ** 0.5
    print(
        "\nMean of each experiment, and its standard error:",
        means.noting(quantity="mean speed in air"),
        errors.data,
        sep="\n",
    )

    # Weighting by the errors, as a physicist would: w = 1 / s^2.
    weights = 1 / errors.data**2
    combined = torch.sum(means * weights) / weights.sum()
    in_vacuum = (combined * AIR_TO_VACUUM).noting(
        quantity="speed of light in vacuum, all experiments combined"
    )
    print("\nCombined, and reduced to vacuum:", in_vacuum, sep="\n")

    values, order = torch.sort(
        torch.abs(torch.reshape(in_air, (-1,)) * AIR_TO_VACUUM - DEFINED), descending=True
    )
    print(
        "\nThe three runs farthest from the modern value:",
        values[:3].noting(quantity="deviation"),
        sep="\n",
    )
    print(f"  in experiments {(order.data[:3] // 20 + 1).tolist()}")

    off = in_vacuum - DEFINED
    share = 100 * off.data.item() / DEFINED
    print(
        f"\nMichelson's result is {off.data.item():.0f} {off.metadata['unit']} above the value of "
        f"today ({share:.3f} %)."
    )


if __name__ == "__main__":
    main()
