from hitoku.methods.flagged_groups.flagged_groups import FlaggedGroups as FlaggedGroups
from hitoku.methods.flagged_groups.flagged_groups import suppress_with_witnesses as suppress_with_witnesses
from hitoku.methods.flagged_groups.flags import closure as closure
from hitoku.methods.flagged_groups.flags import flag_groups as flag_groups
from hitoku.methods.flagged_groups.flags import groups_of as groups_of
