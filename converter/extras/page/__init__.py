"""The page at /think in mitmweb: a live list of exchanges, with their thinking, text and times.

The page needs mitmweb's own login. While no browser has the page open, the list is not updated. In
the browser, `think.js` starts the other scripts: `list.js` draws the list, `exchange.js` the chosen
exchange, `turns.js`, `growing_text.js` and `markdown.js` the exchange's text; `connection.js` sends
requests to `handlers.py`. `whole.js` draws a session as a page of its own.
"""
