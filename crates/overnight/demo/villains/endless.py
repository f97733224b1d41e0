# Villain: never ends, does not listen to requests, and has a child in a session of its own to go on after it.
import signal
import subprocess
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for_ever = "import time\nwhile True: time.sleep(1)"
    subprocess.Popen([sys.executable, "-c", for_ever, "@MARK@"], start_new_session=True)
    print("still training ...", flush=True)
    while True:
        time.sleep(1)
