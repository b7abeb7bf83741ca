"""PyTorch's own function transforms, whose place ``torch.func`` takes."""
