"""The wire formats of the APIs: a folder for each dialect, and beside the folders the record
`Dialect` (`dialect`), the table of all dialects (`table`), and code that several of them share.

A dialect has a decoder and an encoder of replies, and a reader or a writer of requests. No dialect
imports another.
"""
