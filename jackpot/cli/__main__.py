from jackpot.cli import main

main()
