"""What holds for every method, metric, score and backend, whoever wrote it.

Each module has `CHECKS`: functions that take one of them and raise an AssertionError where it
breaks the contract. The tests run them over the tables; a new line in a table is checked without
a line here. To check one of your own:

    for check in tests.contracts.metrics.CHECKS:
        check("my-metric", my_metric)
"""
