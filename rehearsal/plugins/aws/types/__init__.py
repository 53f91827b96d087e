"""The rows of the table, a module per service or part of one; a further module here is in the table by being here."""
