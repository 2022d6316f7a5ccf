"""``python -m hitoku`` is the command line."""

from hitoku.cli import main

if __name__ == "__main__":
    main()
