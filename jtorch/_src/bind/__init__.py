"""From declarations to the functions and methods that programs call. Floor 3."""
