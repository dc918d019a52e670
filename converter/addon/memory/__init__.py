"""The memory of replies: in this process, in a file, or with a server that many processes ask."""
