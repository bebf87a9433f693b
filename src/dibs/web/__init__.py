"""The playground: a local page that shows a search tree grow, with and without guidance (`dibs serve`).

`app.py` is the list of what a page may ask; `gate.py` decides who may ask, and `protocol.py` for how long;
`scheduling.py` shares the cores among searches. The page itself is in `static/`: `app.js` puts its parts together.
"""
