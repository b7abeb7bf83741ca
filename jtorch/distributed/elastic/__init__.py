"""What the launcher and the programs that it starts say to each other."""
