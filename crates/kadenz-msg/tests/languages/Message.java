package kadenz;

import java.nio.ByteBuffer;

/** What Kadenz' package for Java asks of a message. */
public interface Message extends java.io.Serializable {
    int encodedSize();

    long fingerprint();

    void encodeTo(ByteBuffer buffer);

    void decodeFrom(ByteBuffer buffer);
}
