package kadenz;

import java.io.Serializable;

/** A received message. */
public final class Received<T extends Message> implements Serializable {
    private static final long serialVersionUID = 1;

    /** The channel it was published to. */
    public final String channel;

    /** The message, of the subscribed type; null where bytes were subscribed. */
    public final T message;

    /** The whole encoded message, where no type was subscribed; null where one was. */
    public final byte[] data;

    /** Its number, where the provider counts messages; else -1. */
    public final long sequence;

    /** When the kernel received it, on the clock of {@link Kadenz#nowNs}; -1 where unknown. */
    public final long kernelNs;

    /** When it was complete in this process. */
    public final long takenNs;

    Received(String channel, T message, byte[] data, long[] about) {
        this.channel = channel;
        this.message = message;
        this.data = data;
        this.sequence = about[0];
        this.kernelNs = about[1];
        this.takenNs = about[2];
    }

    @Override
    public String toString() {
        return channel + ": " + (message == null ? data.length + " bytes" : message.toString());
    }
}
