"""What tests of distributed tensors share."""
