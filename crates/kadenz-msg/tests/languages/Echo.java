import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Decodes and encodes again what comes as "type hexadecimal-digits". */
public class Echo {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", 2);
            out.println(answer(words[0].contains(".") ? words[0] : "lcmtypes." + words[0], bytes(words[1])));
        }
        out.flush();
    }

    static String answer(String name, byte[] bytes) throws Exception {
        kadenz.Message message;
        try {
            message = (kadenz.Message) Class.forName(name).getMethod("decode", byte[].class).invoke(null, (Object) bytes);
        } catch (InvocationTargetException thrown) {
            if (thrown.getCause() instanceof IllegalArgumentException) {
                return "refused: " + thrown.getCause().getMessage();
            }
            throw thrown;
        }
        try {
            // A buffer of the other byte order, with something before and behind the message.
            ByteBuffer buffer = ByteBuffer.allocate(message.encodedSize() + 24).order(ByteOrder.LITTLE_ENDIAN);
            buffer.position(16);
            message.encodeTo(buffer);
            buffer.flip().position(16);
            kadenz.Message again = message.getClass().getDeclaredConstructor().newInstance();
            again.decodeFrom(buffer);
            if (buffer.hasRemaining() || !again.equals(message) || again.hashCode() != message.hashCode()
                || !again.toString().equals(message.toString())) {
                return "not the same: " + message + " " + again;
            }
            return hex((byte[]) message.getClass().getMethod("encode").invoke(message));
        } catch (IllegalArgumentException error) {
            return "not encoded: " + error.getMessage();
        }
    }

    static byte[] bytes(String digits) {
        byte[] bytes = new byte[digits.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte it : bytes) text.append(String.format("%02x", it));
        return text.toString();
    }
}
