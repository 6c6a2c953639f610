package kadenz;

import java.nio.BufferOverflowException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;

/** Typed messages as bytes: the fingerprint of the type, then the members. */
final class Framing {
    private Framing() {}

    /** Bytes of a message. */
    static int size(Message message) {
        try {
            return Long.BYTES + message.encodedSize();
        } catch (IllegalArgumentException error) {
            throw unencodable(message, error);
        }
    }

    /** Writes a message at the position of a buffer with room for it. */
    static void encode(Message message, ByteBuffer into) {
        into.putLong(message.fingerprint());
        try {
            message.encodeTo(into);
        } catch (IllegalArgumentException | BufferOverflowException error) {
            throw unencodable(message, error);
        }
    }

    private static KadenzException unencodable(Message message, RuntimeException error) {
        return new KadenzException("the " + message.getClass().getName() + " cannot be encoded: " + error.getMessage()
            + "; let its arrays be as long as their lengths say", error);
    }

    /** Reads the members of a message, which take the whole rest of a buffer behind the fingerprint. */
    static void decode(Message message, ByteBuffer from, String channel) {
        String why;
        RuntimeException cause = null;
        try {
            message.decodeFrom(from);
            if (!from.hasRemaining()) {
                return;
            }
            why = from.remaining() + " bytes follow it";
        } catch (IllegalArgumentException | BufferUnderflowException error) {
            cause = error;
            why = String.valueOf(error.getMessage());
        }
        throw new KadenzException("a message of " + from.limit() + " bytes on " + channel + " is not a valid "
            + message.getClass().getName() + ": " + why + "; publish and subscribe the same type", cause);
    }
}
