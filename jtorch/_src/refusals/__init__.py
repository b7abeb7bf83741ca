"""What is left out of PyTorch, with reasons: names and modules that refuse when they are used.
Floor 0."""
