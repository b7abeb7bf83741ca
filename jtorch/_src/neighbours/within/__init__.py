"""Private modules of PyTorch that packages import from and that offer something;
``refusals/homes.py`` says which they stand for."""
