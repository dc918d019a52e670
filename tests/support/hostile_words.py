"""Words of a model that mean no good to who reads them in a browser or a terminal."""

MARKUP = (
    "<script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 2'>",
    "<svg onload='window.hit = 3'></svg>",
    "<iframe src='javascript:parent.hit = 4'></iframe>",
    "<style>body { display: none }</style>",
    "</div></template><b id=injected>bold</b>",
    "&lt;b&gt;",
)
LINKS = (
    "[a](javascript:window.hit=5)",
    "[b](JaVaScRiPt:alert(1))",
    "[c](data:text/html,<script>window.hit=6</script>)",
    "[d](vbscript:x)",
    "[e](//127.0.0.1:9/x)",
    "![f](http://127.0.0.1:9/pixel.png)",
    "![g](data:image/svg+xml;base64,PHN2Zz4=)",
    "![h](data:text/html;base64,AAAA)",
)
ACTING = "\x1b[2J\x07\x00\x08 \u202egnp.exe\u202c \u2066x\u2069 \u200f \ufeff \u2028 \x9b31m"
SHOWN = "␛[2J␇␀␈ \\u202egnp.exe\\u202c \\u2066x\\u2069 \\u200f \\ufeff \\u2028 \\x9b31m"
"""The same as both pages and transcripts spell it out."""
