package kadenz;

import java.io.Serializable;
import java.nio.ByteBuffer;

/**
 * A message of a type. {@code kadenz msg gen --lang java} writes such classes, with public fields and a constructor
 * without arguments, which receiving needs. Buffers are the library's: a message must not keep one beyond the call.
 */
public interface Message extends Serializable {
    /** Bytes of the encoded members, without the fingerprint. */
    int encodedSize();

    /** The type's fingerprint, the first eight bytes of every message. */
    long fingerprint();

    /** Writes the members at the position of a big-endian buffer, and moves it on. */
    void encodeTo(ByteBuffer buffer);

    /** Reads the members from the position on, to the limit at most; IllegalArgumentException for other bytes. */
    void decodeFrom(ByteBuffer buffer);
}
