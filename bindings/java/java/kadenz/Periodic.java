package kadenz;

/**
 * A loop at a rate with its unit. The thread that first calls {@link #next()} is tuned and runs the loop.
 *
 * <p>The intended times are the start plus whole intervals: lateness does not add up. A loop that falls behind gets the
 * latest tick that is due. Java pauses all its threads now and then, above all for its garbage collector: the run shows
 * how long.
 */
public final class Periodic implements AutoCloseable {
    private final String rate;
    private String deadline;
    private int priority;
    private boolean locksMemory;
    private String cpus;
    private Recording recording;
    private String series;

    private final long[] ticked = new long[4];
    private volatile boolean isClosed;
    private long number;

    /** A loop at a rate: 1kHz, 250Hz, 29.97Hz. */
    public Periodic(String rate) {
        this.rate = rate;
    }

    /** The limit of a wake-up's lateness, for example 400us; a recording counts later ones as missed. */
    public Periodic deadline(String deadline) {
        beforeStart();
        this.deadline = deadline;
        return this;
    }

    /** SCHED_FIFO, 1 to 99. Where the machine refuses a setting, the loop runs without it: see {@link #refused}. */
    public Periodic priority(int priority) {
        beforeStart();
        this.priority = priority;
        return this;
    }

    /** Locks the process' memory, so that no access waits for a page. */
    public Periodic lockMemory(boolean locksMemory) {
        beforeStart();
        this.locksMemory = locksMemory;
        return this;
    }

    /** Runs on these CPUs: 2-3. */
    public Periodic cpus(String cpus) {
        beforeStart();
        this.cpus = cpus;
        return this;
    }

    /** Records the lateness of each tick, as a series named lateness. */
    public Periodic record(Recording recording) {
        return record(recording, "lateness");
    }

    /** Records the lateness of each tick. */
    public Periodic record(Recording recording, String series) {
        beforeStart();
        this.recording = recording;
        this.series = series;
        return this;
    }

    /**
     * Sleeps until the next tick.
     *
     * @throws InterruptedException where the thread is interrupted meanwhile; the next call waits for the same tick
     * @throws KadenzException where the loop cannot start, was closed, or is another thread's
     */
    public Tick next() throws InterruptedException {
        return next(new Tick());
    }

    /** As {@link #next()}, without garbage: fills and returns a tick. */
    public Tick next(Tick into) throws InterruptedException {
        start();
        while (!Native.tick(number, Deadline.endlessSlice(), ticked)) {
            start();
        }
        into.index = ticked[0];
        into.skipped = ticked[1];
        into.stepSeconds = ticked[2] / 1e9;
        into.latenessNs = ticked[3];
        return into;
    }

    /** The settings that the machine refused, with reason and remedy. Starts the loop, on the calling thread. */
    public String[] refused() {
        start();
        return Native.refused(number);
    }

    /** Ends the loop. Its thread is restored now, or, where another thread calls this, at its next tick. */
    @Override
    public void close() {
        isClosed = true;
        end();
    }

    private void start() {
        if (isClosed) {
            end();
            throw new KadenzException("the loop is closed; make another one");
        }
        if (number == 0) {
            long run = recording == null ? 0 : recording.number();
            number = Native.startLoop(rate, deadline, priority, locksMemory, cpus, run, series);
        }
    }

    private void end() {
        if (number != 0 && Native.closeLoop(number)) {
            number = 0;
        }
    }

    private void beforeStart() {
        if (number != 0) {
            throw new KadenzException("the loop has started; state it before the first tick");
        }
    }
}
