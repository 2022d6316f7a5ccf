from hitoku.methods.flagged_groups.flagged_groups import FlaggedGroups as FlaggedGroups
from hitoku.methods.flagged_groups.flagged_groups import witnessed as witnessed
from hitoku.methods.flagged_groups.flags import closure as closure
from hitoku.methods.flagged_groups.flags import flagged as flagged
from hitoku.methods.flagged_groups.flags import groups_of as groups_of
