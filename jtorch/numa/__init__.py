"""Memory nodes of processors."""
