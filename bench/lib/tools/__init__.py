"""One tool a file: the flags it is given for a load, and how its report is read.

Each has `name`, `program` (None where it is not here), `argv(load)`, `read(finished)`, `version()`.
"""

from lib.tools.ab import Ab
from lib.tools.bombardier import Bombardier
from lib.tools.floor import Floor
from lib.tools.h2load import H2load
from lib.tools.hey import Hey
from lib.tools.k6 import K6
from lib.tools.oha import Oha
from lib.tools.prony import Prony
from lib.tools.vegeta import Vegeta
from lib.tools.wrk import Wrk
from lib.tools.wrk2 import Wrk2
from lib.tools.zrk import Zrk

__all__ = ["Ab", "Bombardier", "Floor", "H2load", "Hey", "K6", "Oha", "Prony", "Vegeta", "Wrk", "Wrk2", "Zrk"]
