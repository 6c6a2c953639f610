package kadenz;

import java.io.Serializable;
import java.nio.ByteBuffer;

/** A message of a log. Times are nanoseconds since 1970. */
public final class Logged implements Serializable {
    private static final long serialVersionUID = 1;

    /** The channel that it was published to. */
    public final String channel;

    /** Its bytes. */
    public final byte[] data;

    /** When it was logged. */
    public final long loggedNs;

    /** When it was published; the time of logging where the log does not say. */
    public final long publishedNs;

    Logged(String channel, byte[] data, long loggedNs, long publishedNs) {
        this.channel = channel;
        this.data = data;
        this.loggedNs = loggedNs;
        this.publishedNs = publishedNs;
    }

    /** Decodes it into a message of its type, and returns that; an exception where it is of another type. */
    public <T extends Message> T into(T message) {
        ByteBuffer buffer = ByteBuffer.wrap(data);
        if (data.length < Long.BYTES || buffer.getLong() != message.fingerprint()) {
            throw new KadenzException("the message on " + channel + " is not a " + message.getClass().getName());
        }
        Types.decode(message, buffer, channel);
        return message;
    }

    @Override
    public String toString() {
        return channel + ": " + data.length + " bytes";
    }
}
