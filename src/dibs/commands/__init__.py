"""The commands of the shell, a file for each."""
