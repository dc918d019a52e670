"""The command `think-addon`: start the proxy, read a reply, keep recordings, examine a server."""
