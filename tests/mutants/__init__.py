"""Break the code on purpose and see the tests fail: `make mutants`, a module of mutants for each layer."""
