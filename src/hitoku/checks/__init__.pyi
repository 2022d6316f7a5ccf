from hitoku.checks.arrow_columns import packed_texts as packed_texts
from hitoku.checks.decisions import Decision as Decision
from hitoku.checks.decisions import ExceptionRequest as ExceptionRequest
from hitoku.checks.decisions import parse_decisions as parse_decisions
from hitoku.checks.decisions import read_decisions as read_decisions
from hitoku.checks.unit_records import Records as Records
