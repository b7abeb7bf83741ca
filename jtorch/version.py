"""The version of PyTorch that jtorch follows, with a label of its own, and what torch programs ask
about the build."""

__version__ = "2.13.0+jtorch"
#: The version of jtorch itself.
jtorch = "0.1.0"
debug = False
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
git_version = ""
