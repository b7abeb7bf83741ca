"""Public callables that honour the override protocol, made of implementations. Floor 0;
``jtorch.dispatch`` says who is asked."""
