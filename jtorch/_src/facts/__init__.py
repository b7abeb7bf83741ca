"""What everything else builds on: dtypes, devices, layouts, sizes, and the words of errors. Floor
0."""
