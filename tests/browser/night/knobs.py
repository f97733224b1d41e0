rate = 8.0
width = 4
decay = 2.0
