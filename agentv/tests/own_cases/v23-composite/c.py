print('{"score": 0.7, "hits": ["h"], "misses": []}')
