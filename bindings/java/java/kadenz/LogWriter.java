package kadenz;

import java.nio.ByteBuffer;

/** A log of messages that is written: MCAP where its name ends with .mcap, else LCM's event log. */
public final class LogWriter extends Handle {
    /** Creates a log, and replaces an existing one. */
    public LogWriter(String path) {
        super("log", Native.createLog(path));
    }

    /** Writes a message that came at a time, in nanoseconds since 1970. */
    public synchronized void write(String channel, byte[] data, long unixNs) {
        Native.writeLog(number(), channel, data, unixNs);
    }

    /** Writes a typed message. */
    public void write(String channel, Message message, long unixNs) {
        ByteBuffer buffer = ByteBuffer.allocate(Types.size(message));
        Types.encode(message, buffer);
        write(channel, buffer.array(), unixNs);
    }

    /** Completes the file, and closes it. Without this the written messages stay readable. */
    public synchronized void finish() {
        try {
            Native.finishLog(number());
        } finally {
            super.close();
        }
    }

    /** Finishes the log where it was not finished. */
    @Override
    public synchronized void close() {
        if (isOpen()) {
            finish();
        }
    }
}
