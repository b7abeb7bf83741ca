"""What PyTorch's own tests share, as far as the tests of packages use it."""
