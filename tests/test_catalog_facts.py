"""Numbers and tables of the catalog that nothing else would miss, each against a source outside it."""

import mmacalc
from mmacalc.arithmetic.numerics import NVIDIA, ROWS


def test_the_rows_of_the_arithmetic_table_name_the_catalogs_architectures_and_all_of_nvidias():
    known = mmacalc.architectures()
    named = {name for row in ROWS for name in row[0]}
    assert named <= set(known)
    assert set(NVIDIA) == {name for name in known if name.startswith("sm_")}
