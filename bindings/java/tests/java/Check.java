/** Helpers of the test programs. */
final class Check {
    /** Long enough for any machine; a test that takes longer hangs. */
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

    /** Asserts that the body throws a KadenzException with these words in its text. */
    static void raises(String words, Body body) throws Exception {
        try {
            body.run();
        } catch (kadenz.KadenzException error) {
            that(error.getMessage().contains(words), "\"" + error.getMessage() + "\" does not say: " + words);
            return;
        }
        throw new AssertionError("no exception says: " + words);
    }

    /** A thread; the test waits for its end, and gets its exception. */
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

        /** The exception that it ended with; null where it ended normally. */
        Throwable end() throws InterruptedException {
            join(LONG_MS);
            that(!isAlive(), "the thread hangs");
            return thrown;
        }
    }
}
