"""A large dict of dicts at the level of the module, which the program still uses."""

records = {
    number: {"name": f"record {number:0100}", "scores": [number + 0.5, number + 1.5]}
    for number in range(100_000)
}
count = len(records)
