"""The playground: a local page that shows a search tree grow, with and without guidance (`dibs serve`).

`app.py` is the list of what a page may ask; `gate.py` decides who may ask; `scheduling.py` shares the cores among
searches.
"""
