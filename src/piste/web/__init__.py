"""The page and the JSON API behind `piste serve`. FastAPI is needed from `app.py` on."""
