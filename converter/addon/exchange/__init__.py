"""The three values of an exchange (`Exchange`, `ReadRequest`, `AwaitedReply`), the user's options,
and earlier thoughts that are put back into requests.
"""
