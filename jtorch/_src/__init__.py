"""The inner parts of jtorch, a folder a floor. Nothing here is an interface: ``docs/internals.md``
says what stands where."""
