"""What is kept on disk for the next process, and how files are written whole. Floor 0."""
