"""The page at /think in mitmweb: the exchanges as they come, what the model thinks and says, where
the time went.

It stands behind mitmweb's own login. Nothing is kept up to date while nobody has it open. In the
browser `think.js` begins; `list.js` has the rows, `exchange.js` what is chosen, `turns.js`,
`growing_text.js` and `markdown.js` its text, `connection.js` what it asks of `handlers`.
"""
