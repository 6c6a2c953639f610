package kadenz;

import java.util.concurrent.TimeUnit;

/** The time limit of a call. */
final class Deadline {
    /** The longest native call, during which a thread does not see an interrupt or a close. */
    private static final long SLICE_NS = TimeUnit.MILLISECONDS.toNanos(50);

    private final long start = System.nanoTime();
    private final long timeoutNs;

    Deadline(long timeoutMs) {
        if (timeoutMs < 0) {
            throw new KadenzException(timeoutMs + " ms is not a valid timeout; state milliseconds from 0 on");
        }
        timeoutNs = TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    }

    /** The time that is left, from 0 on. */
    long left() {
        return Math.max(0, timeoutNs - (System.nanoTime() - start));
    }

    boolean isOver() {
        return left() == 0;
    }

    /** The limit of the next native call. A call that does not wait never sees an interrupt. */
    long slice() throws InterruptedException {
        return timeoutNs == 0 ? 0 : slice(left());
    }

    /** The limit of a native call within another span. */
    static long slice(long leftNs) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        return Math.min(leftNs, SLICE_NS);
    }

    static long endlessSlice() throws InterruptedException {
        return slice(SLICE_NS);
    }
}
