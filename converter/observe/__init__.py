"""What is told of a reply beside the reply: summary, thought events, statistics, printable text."""
