"""What a researcher hands over, and how a checker judges it again."""
