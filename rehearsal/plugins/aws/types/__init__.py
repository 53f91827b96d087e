"""The table's rows, one module per service or part of one; new modules are found automatically."""
