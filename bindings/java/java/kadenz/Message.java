package kadenz;

import java.io.Serializable;
import java.nio.ByteBuffer;

/**
 * A message of a type. {@code kadenz msg gen --lang java} writes such classes, with public fields and a constructor
 * without arguments, which receiving needs. The library lends its buffers for a call: a message must not keep one.
 */
public interface Message extends Serializable {
    /** Bytes of the encoded members, without the fingerprint. */
    int encodedSize();

    /** What the first eight bytes of every message of the type say. */
    long fingerprint();

    /** Writes the members at the position of a big-endian buffer, and moves it on. */
    void encodeTo(ByteBuffer buffer);

    /** Reads the members from the position on, to the limit at most; IllegalArgumentException where they are none. */
    void decodeFrom(ByteBuffer buffer);
}
