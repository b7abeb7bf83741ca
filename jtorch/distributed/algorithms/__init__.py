"""What programs for several processes are made of."""
