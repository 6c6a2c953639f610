/** What the programs share. */
final class Check {
    /** Long enough for any machine; what takes longer hangs. */
    static final long LONG_MS = 60_000;

    interface Body {
        void run() throws Exception;
    }

    private Check() {}

    static void that(boolean holds, Object said) {
        if (!holds) {
            throw new AssertionError(String.valueOf(said));
        }
    }

    static void same(Object expected, Object got) {
        that(expected == null ? got == null : expected.equals(got), "expected " + expected + ", got " + got);
    }

    /** Raises a KadenzException whose text has these words. */
    static void raises(String words, Body body) throws Exception {
        try {
            body.run();
        } catch (kadenz.KadenzException error) {
            that(error.getMessage().contains(words), "\"" + error.getMessage() + "\" does not say: " + words);
            return;
        }
        throw new AssertionError("no exception says: " + words);
    }

    /** A thread whose end, and whose exception, the test waits for. */
    static final class Other extends Thread {
        private final Body body;
        private volatile Throwable thrown;

        Other(Body body) {
            this.body = body;
            setDaemon(true);
            start();
        }

        @Override
        public void run() {
            try {
                body.run();
            } catch (Throwable error) {
                thrown = error;
            }
        }

        /** What it ended with; null where it ended well. */
        Throwable end() throws InterruptedException {
            join(LONG_MS);
            that(!isAlive(), "the thread hangs");
            return thrown;
        }
    }
}
