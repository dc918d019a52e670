"""The command `think-addon`: start the proxy, start a client, examine a server."""
