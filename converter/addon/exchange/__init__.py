"""The three values that an exchange has one after another (`Exchange`, `ReadRequest`,
`AwaitedReply`), the user's options, and earlier thoughts that are put back into requests. The
steps from one value to the next are in `addon/hooks/`.
"""
