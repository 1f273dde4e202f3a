"""What Apache Otava says of series on stdin; runs in its own environment."""

import sys

import numpy
from otava.analysis import compute_change_points
from otava.change_point_divisive.calculator import PairDistanceCalculator

for line in sys.stdin:
    name, _, values = line.rstrip("\n").partition("\t")
    values = [float(value) for value in values.split()]
    told = []
    for p in (0.001, 0.0001):
        points, _ = compute_change_points(values, window_len=50, max_pvalue=p, min_magnitude=0.03)
        told.append(" ".join(str(point.index) for point in points) or "-")
    calculator = PairDistanceCalculator(numpy.log(numpy.array(values[:50])))
    first = calculator.get_candidate_change_point(slice(0, None))
    print(name, *told, first.index, repr(float(first.qhat)), sep="\t")
