"""Tool calls: the one place that knows where a call begins and ends, its name, id and arguments."""
