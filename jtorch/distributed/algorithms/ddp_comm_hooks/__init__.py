"""Ways in which ``DistributedDataParallel`` can combine gradients."""
