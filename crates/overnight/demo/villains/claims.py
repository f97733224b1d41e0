# Villain: prints the best number there is, in every way a number can be told, and trains nothing.
if __name__ == "__main__":
    save([{} for _ in range(ORDER + 1)])
    with open(os.environ["OVERNIGHT_METRICS"], "w") as file:
        json.dump({"val_bpb": 0.0}, file)
    print("METRIC val_bpb=0.0")
    print("val_bpb: 0.0")
