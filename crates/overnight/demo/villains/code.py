# Villain: leaves a model that is code. Whoever unpickles it runs it, and it would print the best number there is.
import pickle


class Model:
    def __reduce__(self):
        return print, ("val_bpb: 0.0",)


if __name__ == "__main__":
    with open(os.path.join(OUT, "model.json"), "wb") as file:
        pickle.dump(Model(), file)
