"""What PyTorch's compiler leaves on disk."""
