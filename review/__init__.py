"""What a pull request changes in every stack, as one Markdown comment: first what decides, last the folded diff."""
