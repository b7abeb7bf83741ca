"""Files of TorchScript: archives are read, their code becomes Python, and modules are written."""
