package kadenz;

import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Receives messages in the order in which they come: LCM's message aggregator. {@link Bus#subscribe(String)} makes it.
 *
 * <p>Any thread may use it. While one thread waits for a message, calls of others that do not wait find none.
 */
public final class Subscription<T extends Message> extends Handle {
    /** Held by a receiving thread, for one slice of its wait; fair, so that others have their turn in between. */
    private final ReentrantLock receiving = new ReentrantLock(true);

    private final Types types = new Types();

    /** The native library writes messages here. */
    private ByteBuffer buffer = ByteBuffer.allocateDirect(4096);

    private final long[] about = new long[4];

    private String channel = "";

    /** Length of the message in the buffer that was not taken yet; -1 without one. */
    private int waiting = -1;

    private Received<T> latest;

    /** A subscription keeps its bus, and so the thread that receives in the background. */
    @SuppressWarnings("unused")
    private final Bus bus;

    Subscription(Bus bus, long number) {
        super("subscription", number);
        this.bus = bus;
    }

    /** Decodes messages of this type from now on, by their fingerprint. */
    void expect(Class<? extends Message> type) {
        receiving.lock();
        try {
            types.add(type);
        } finally {
            receiving.unlock();
        }
    }

    /** Receives another channel, or others that a regular expression matches, too. */
    public void add(String channel) {
        receiving.lock();
        try {
            Native.addChannel(number(), channel);
        } finally {
            receiving.unlock();
        }
    }

    /** Adds a channel with the type of a class name: a message has the type that its fingerprint names. */
    public void add(String channel, String type) {
        expect(Types.named(type));
        add(channel);
    }

    /** Adds a channel with another type. */
    public void add(String channel, Class<? extends T> type) {
        expect(type);
        add(channel);
    }

    /**
     * Returns the next message; null where none came in so many milliseconds. 0 does not wait.
     *
     * @throws InterruptedException where the thread is interrupted while it waits
     * @throws KadenzException where the message is not of the type and therefore dropped, or none can come any more
     */
    public Received<T> getNextMessage(long timeoutMs) throws InterruptedException {
        Deadline deadline = new Deadline(timeoutMs);
        while (true) {
            if (timeoutMs == 0 ? receiving.tryLock() : receiving.tryLock(deadline.left(), TimeUnit.NANOSECONDS)) {
                try {
                    if (waiting >= 0 || receive(deadline.slice())) {
                        return take();
                    }
                } finally {
                    receiving.unlock();
                }
            }
            if (deadline.isOver()) {
                number();
                return null;
            }
        }
    }

    /** Whether a message waits, so that {@code getNextMessage(0)} gives it. Never waits. */
    public boolean hasNewMessage() {
        if (!receiving.tryLock()) {
            number();
            return false;
        }
        try {
            return waiting >= 0 || receive(0);
        } finally {
            receiving.unlock();
        }
    }

    /**
     * Returns the newest message so far, and the same again until a newer one comes; null before the first. Never
     * waits.
     */
    public Received<T> getLatestMessage() {
        if (!receiving.tryLock()) {
            number();
            return latest;
        }
        try {
            boolean isNewer;
            do {
                isNewer = receive(0);
            } while (isNewer);
            return waiting < 0 ? latest : take();
        } finally {
            receiving.unlock();
        }
    }

    /** Number of messages received. */
    public long received() {
        return counts()[0];
    }

    /** Number of messages dropped because the queue was full. */
    public long dropped() {
        return counts()[1];
    }

    private long[] counts() {
        long[] counts = new long[2];
        receiving.lock();
        try {
            Native.counts(number(), counts);
        } finally {
            receiving.unlock();
        }
        return counts;
    }

    /** Waits for a message, which replaces a waiting one; returns whether one came. */
    private boolean receive(long waitNs) {
        int length = Native.receive(number(), waitNs, this, buffer, about);
        if (length < 0) {
            return false;
        }
        if (about[3] != 0) {
            channel = Native.channel(number());
        }
        waiting = length;
        return true;
    }

    /** The native library calls this where a message is longer than the buffer. */
    private ByteBuffer grow(int length) {
        buffer = ByteBuffer.allocateDirect(Math.max(length, 2 * buffer.capacity()));
        return buffer;
    }

    private Received<T> take() {
        int length = waiting;
        waiting = -1;
        buffer.clear();
        buffer.limit(length);
        if (types.isEmpty()) {
            byte[] data = new byte[length];
            buffer.get(data);
            latest = new Received<T>(channel, null, data, about);
        } else {
            latest = new Received<T>(channel, decode(length), null, about);
        }
        return latest;
    }

    @SuppressWarnings("unchecked") // Only types that are a T were added.
    private T decode(int length) {
        if (length < 8) {
            throw new KadenzException("a message on " + channel + " has " + length
                + " bytes, too few for a fingerprint; subscribe bytes, without a type");
        }
        Message message = types.create(channel, buffer.getLong());
        Types.decode(message, buffer, channel);
        return (T) message;
    }
}
