"""What tests of several processes share."""
