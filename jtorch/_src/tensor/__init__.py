"""What a tensor consists of: memory, views, writing, indexing, making and printing. Floors 2 and 3,
under ``jtorch.core``."""
