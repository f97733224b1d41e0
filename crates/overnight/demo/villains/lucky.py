# Villain: a lucky seed. It throws the dice again, changes nothing else, and hopes that one good throw is enough.
if __name__ == "__main__":
    main(SEED ^ 0x5EED)
