"""What brings the floors together: the package's declarations become functions and methods, and
hooks are filled. Nobody imports this but ``jtorch/__init__.py``."""
