"""Op declarations: torch's signature, docstring and kernel in one ``def`` each. Knows neither
Tensor nor the override protocols."""
