"""The names under which programs and files know the parts of jagged nested tensors."""
