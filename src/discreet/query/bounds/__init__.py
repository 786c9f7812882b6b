"""Bound the integers that an expression can take.

arithmetic        sums, products, division and rounding of terms
calendar          months, years and other parts of dates and times
comparisons       comparisons, IN and LIKE as conditions over codes
conditionals      case, coalesce, least, greatest, absolute values
strings           lower, upper, substr … of declared categories
reachable_values  the codes that an expression can take on declared values
"""
