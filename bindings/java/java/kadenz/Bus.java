package kadenz;

import java.nio.ByteBuffer;

/**
 * A bus by its URL: udpm:// (LCM's multicast), tcpq://, shm://, zmq://, ros1://, memq:// and more. Any thread may
 * use it.
 */
public final class Bus extends Handle {
    /** Messages that wait in a subscription by default. */
    private static final int QUEUE = 30;

    /** The buffer that messages of a type are encoded into. */
    private ByteBuffer encoded = ByteBuffer.allocateDirect(1024);

    private volatile Background background;

    /** The bus that LCM_DEFAULT_URL names; without it, LCM's multicast on this host. */
    public Bus() {
        this(null);
    }

    /** The bus of a URL. */
    public Bus(String url) {
        super("bus", Native.openBus(url));
    }

    /** The URL it was opened with. */
    public String url() {
        return Native.busUrl(number());
    }

    /**
     * The number of messages that were lost on the way to this bus, of all channels. Known by the numbers that senders
     * give their messages, as over udpm://, shm:// and dds://, also those of unmodified LCM programs; 0 where they give
     * none. What a full queue drops is {@link Subscription#dropped}. It interrupts the thread that receives: not for a
     * loop.
     */
    public long lost() {
        return Native.lost(number());
    }

    /**
     * Receives on a thread of its own from now on, so that messages wait in their subscriptions while no thread asks
     * for them: for programs that compute for long. Without it, a thread that waits for a message receives for all
     * subscriptions, which costs one wake-up less; meanwhile messages wait in the system's small buffers.
     */
    public synchronized void receiveInBackground() {
        if (background == null || !background.isOpen()) {
            background = new Background(Native.receiveInBackground(number()));
        }
    }

    @Override
    public void close() {
        Background receiving = background;
        if (receiving != null) {
            receiving.close();
        }
        super.close();
    }

    /** Publishes bytes that are encoded already. */
    public void publish(String channel, byte[] data) {
        Native.publish(number(), channel, data);
    }

    /** Publishes a message of a type. */
    public synchronized void publish(String channel, Message message) {
        int length = Types.size(message);
        if (length > encoded.capacity()) {
            encoded = ByteBuffer.allocateDirect(Math.max(length, 2 * encoded.capacity()));
        }
        encoded.clear();
        Types.encode(message, encoded);
        Native.publishBuffer(number(), channel, encoded, encoded.position());
    }

    /** Subscribes bytes: of a channel, or of all channels whose whole name a regular expression matches. */
    public Subscription<Message> subscribe(String channel) {
        return subscribe(channel, (Class<Message>) null, QUEUE, true);
    }

    /** Subscribes messages of a type by the name of its class. */
    public Subscription<Message> subscribe(String channel, String type) {
        Class<? extends Message> named = Types.named(type);
        Subscription<Message> subscription = subscribe(channel);
        subscription.expect(named);
        return subscription;
    }

    /** Subscribes messages of a type. */
    public <T extends Message> Subscription<T> subscribe(String channel, Class<T> type) {
        return subscribe(channel, type, QUEUE, true);
    }

    /**
     * Subscribes messages of a type, bytes where it is null. A full queue drops the oldest message where the newest are
     * kept, else the message that comes.
     */
    public <T extends Message> Subscription<T> subscribe(
            String channel, Class<T> type, int queue, boolean keepNewest) {
        long number = Native.subscribe(number(), channel, queue, keepNewest);
        Subscription<T> subscription = new Subscription<T>(this, number);
        if (type != null) {
            subscription.expect(type);
        }
        return subscription;
    }

    private static final class Background extends Handle {
        Background(long number) {
            super("receiver", number);
        }
    }
}
