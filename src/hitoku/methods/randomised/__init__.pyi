from hitoku.methods.randomised.public_knowledge import MAX_COUNT as MAX_COUNT
from hitoku.methods.randomised.public_knowledge import PublicKnowledge as PublicKnowledge
from hitoku.methods.randomised.public_knowledge import judge_counts as judge_counts
from hitoku.methods.randomised.public_knowledge import whole_width as whole_width
from hitoku.methods.randomised.randomised import Randomised as Randomised
